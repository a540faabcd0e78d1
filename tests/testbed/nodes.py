"""Start nodes, wait until they accept logins, remove them."""

from __future__ import annotations

import io
import socket
import tarfile
import time

from . import keys, machine, proxy
from .commands import TestbedError, run, succeeds
from .settings import Settings

# Capabilities that roles need and that give a container no access to the machine: mounts, network
# settings, inspection of processes, priorities.
CAPABILITIES = ("SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE", "SYS_NICE")


def container(config: Settings, name: str) -> str:
    """Return the name of a node's container."""
    return f"{config.network}-{name}"


def is_running(config: Settings, name: str) -> bool:
    """Return whether a node's container runs."""
    return _asked(config, name, "{{.State.Running}}") == "true"


def image_of(config: Settings, name: str) -> str:
    """Return the image of a node's container; empty if there is none."""
    return _asked(config, name, "{{.Config.Image}}")


def _asked(config: Settings, name: str, template: str) -> str:
    if not succeeds("docker", "inspect", container(config, name)):
        return ""
    return run("docker", "inspect", "--format", template, container(config, name)).strip()


def start(config: Settings, image: str, name: str, address: str) -> None:
    """Start a fresh node; replace an existing one of this name."""
    remove(config, name)
    options = ["--name", container(config, name), "--hostname", name]
    options += ["--label", f"scalebench.testbed={config.prefix}"]
    options += ["--network", config.network, "--ip", address]
    options += machine.systemd_arguments()
    options += [f"--cap-add={capability}" for capability in CAPABILITIES]
    options += ["--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"]
    options += ["--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp:exec"]
    options += ["--volume", f"{shared_folder(config)}:/shared", "--stop-signal", "SIGRTMIN+3"]
    run("docker", "create", *options, image, "/bin/sh", "/sbin/node-init")
    run("docker", "cp", "-", f"{container(config, name)}:/", stdin=own_files(config, name, address))
    run("docker", "start", container(config, name))


def shared_folder(config: Settings) -> str:
    """Return the folder that all nodes mount as /shared, like a file server's."""
    folder = config.state / "shared"
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def own_files(config: Settings, name: str, address: str) -> bytes:
    """Return a tar archive of a node's own files: keys and proxy settings."""
    host_key = keys.host_key_path(config, name)
    proxy_url = proxy.url(config)
    files = {
        "root/.ssh/authorized_keys": (0o600, keys.administrator(config)),
        "etc/ssh/ssh_host_ed25519_key": (0o600, host_key.read_text()),
        "etc/apt/apt.conf.d/80proxy": (0o644, f'Acquire::http::Proxy "{proxy_url}";\n'),
        "etc/environment": (0o644, f"http_proxy={proxy_url}\nhttps_proxy={proxy_url}\n"),
    }
    return archive(files, "root/.ssh")


def archive(files: dict[str, tuple[int, str]], *private_folders: str) -> bytes:
    """Return a tar archive of files of root, and of folders that only root may enter.

    :param files: mode and text by path.
    """
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path in private_folders:
            folder = tarfile.TarInfo(path)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o700
            tar.addfile(folder)
        for path, (mode, text) in files.items():
            entry = tarfile.TarInfo(path)
            entry.mode, entry.size = mode, len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def wait(config: Settings, nodes: dict[str, str], patience: float = 180.0) -> None:
    """Wait until sshd answers on every node.

    :raises TestbedError: a node does not answer in time; names its log.
    """
    end = time.monotonic() + patience
    for name, address in nodes.items():
        while not sshd_answers(address):
            if not is_running(config, name) or time.monotonic() > end:
                log = f"docker logs {container(config, name)}"
                raise TestbedError(
                    f"{name} ({address}) does not answer on port 22: see {log}. With more than ten"
                    " nodes, raise sysctl fs.inotify.max_user_instances, or systemd starts nothing"
                    " on the last ones"
                )
            time.sleep(0.1)


def sshd_answers(address: str) -> bool:
    """Return whether an sshd answers on port 22."""
    try:
        with socket.create_connection((address, 22), timeout=1) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def remove(config: Settings, name: str) -> None:
    """Remove a node's container and its volumes."""
    if succeeds("docker", "inspect", container(config, name)):
        run("docker", "rm", "--force", "--volumes", container(config, name))


def all_containers(config: Settings) -> list[str]:
    """Return the names of all nodes of the testbed, including those of ``scripts/testbed node``."""
    label = f"label=scalebench.testbed={config.prefix}"
    names = run("docker", "ps", "--all", "--filter", label, "--format", "{{.Names}}")
    return [name.removeprefix(f"{config.network}-") for name in names.split()]
