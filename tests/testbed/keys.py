"""Keys for the system's sshd: the administrator's, and the nodes' host keys, created in advance."""

from __future__ import annotations

from pathlib import Path

from .commands import run
from .settings import Settings


def key(path: Path, comment: str) -> str:
    """Create a key pair if it is missing; return the public key."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path))
    return path.with_name(path.name + ".pub").read_text()


def administrator(config: Settings) -> str:
    """Return the public key that every node authorises."""
    return key(config.state / "id_ed25519", "testbed")


def client_configuration(config: Settings, nodes: dict[str, str]) -> None:
    """Write ``ssh_config`` for ``ssh -F``, with all nodes started so far."""
    folder = config.state / "nodes"
    folder.mkdir(exist_ok=True)
    for name, address in nodes.items():
        (folder / name).write_text(f"Host {name}\n    HostName {address}\n")
    (config.state / "ssh_config").write_text(
        "".join(path.read_text() for path in sorted(folder.iterdir())) + "Host *\n"
        "    User root\n"
        f'    IdentityFile "{config.state}/id_ed25519"\n'
        "    IdentitiesOnly yes\n"
        "    StrictHostKeyChecking yes\n"
        f'    UserKnownHostsFile "{config.state}/known_hosts"\n'
    )


def host_key_path(config: Settings, name: str) -> Path:
    """Return the path of a node's private host key."""
    return config.state / "host_keys" / name


def host_key(config: Settings, name: str, address: str) -> None:
    """Create a node's host key if it is missing, and add the public key to known_hosts.

    A new node of the same name gets the same key, so its key is known before it answers.
    """
    public = key(host_key_path(config, name), name)
    known = config.state / "known_hosts"
    lines = set(known.read_text().splitlines()) if known.exists() else set()
    lines = {line for line in lines if line.split()[0] != address}
    lines.add(f"{address} {' '.join(public.split()[:2])}")
    known.write_text("\n".join(sorted(lines)) + "\n")
