"""Start nodes, wait until one can log in, remove them."""

from __future__ import annotations

import io
import socket
import tarfile
import time

from . import keys, machine, proxy
from .commands import TestbedError, run, succeeds
from .settings import Settings

# All that roles need on a server and a container may be given without access to the machine:
# mounts, the network's settings, looking at processes, priorities.
CAPABILITIES = ("SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE", "SYS_NICE")


def container(wanted: Settings, name: str) -> str:
    """Return the name of a node's container."""
    return f"{wanted.network}-{name}"


def is_running(wanted: Settings, name: str) -> bool:
    """Return whether a node's container runs."""
    form = "{{.State.Running}}"
    return succeeds("docker", "inspect", container(wanted, name)) and (
        run("docker", "inspect", "--format", form, container(wanted, name)).strip() == "true"
    )


def start(wanted: Settings, image: str, name: str, address: str) -> None:
    """Start a fresh node in the place of one that may be there."""
    remove(wanted, name)
    given = ["--name", container(wanted, name), "--hostname", name]
    given += ["--label", f"scalebench.testbed={wanted.prefix}"]
    given += ["--network", wanted.network, "--ip", address]
    given += machine.systemd_arguments()
    given += [f"--cap-add={capability}" for capability in CAPABILITIES]
    given += ["--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"]
    given += ["--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp:exec"]
    given += ["--volume", f"{shared_folder(wanted)}:/shared", "--stop-signal", "SIGRTMIN+3"]
    run("docker", "create", *given, image, "/bin/sh", "/sbin/node-init")
    run("docker", "cp", "-", f"{container(wanted, name)}:/", stdin=own_files(wanted, name, address))
    run("docker", "start", container(wanted, name))


def shared_folder(wanted: Settings) -> str:
    """Return the folder that all nodes see as /shared, as from a file server."""
    folder = wanted.state / "shared"
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def own_files(wanted: Settings, name: str, address: str) -> bytes:
    """Return a tar archive of what distinguishes a node from the image."""
    host_key = keys.host_key_path(wanted, name)
    way_out = proxy.url(wanted)
    files = {
        "root/.ssh/authorized_keys": (0o600, keys.administrator(wanted)),
        "etc/ssh/ssh_host_ed25519_key": (0o600, host_key.read_text()),
        "etc/apt/apt.conf.d/80proxy": (0o644, f'Acquire::http::Proxy "{way_out}";\n'),
        "etc/environment": (0o644, f"http_proxy={way_out}\nhttps_proxy={way_out}\n"),
    }
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        folder = tarfile.TarInfo("root/.ssh")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o700
        archive.addfile(folder)
        for path, (mode, text) in files.items():
            entry = tarfile.TarInfo(path)
            entry.mode, entry.size = mode, len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def wait(wanted: Settings, nodes: dict[str, str], patience: float = 60.0) -> None:
    """Wait until sshd greets on every node.

    :raises TestbedError: a node that does not, with where to look.
    """
    end = time.monotonic() + patience
    for name, address in nodes.items():
        while not greets(address):
            if not is_running(wanted, name) or time.monotonic() > end:
                log = f"docker logs {container(wanted, name)}"
                raise TestbedError(
                    f"{name} ({address}) does not answer on port 22: see {log}. Of more than ten"
                    " nodes at once systemd starts nothing in the last ones, until"
                    " sysctl fs.inotify.max_user_instances is raised"
                )
            time.sleep(0.1)


def greets(address: str) -> bool:
    """Return whether an sshd greets on port 22."""
    try:
        with socket.create_connection((address, 22), timeout=1) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def remove(wanted: Settings, name: str) -> None:
    """Remove a node's container with all that is in it."""
    if succeeds("docker", "inspect", container(wanted, name)):
        run("docker", "rm", "--force", "--volumes", container(wanted, name))


def all_containers(wanted: Settings) -> list[str]:
    """Return the names of the testbed's nodes, those of other commands included."""
    label = f"label=scalebench.testbed={wanted.prefix}"
    said = run("docker", "ps", "--all", "--filter", label, "--format", "{{.Names}}")
    return [name.removeprefix(f"{wanted.network}-") for name in said.split()]
