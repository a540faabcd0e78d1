"""Keys of the first contact: the administrator's, and the nodes' own, known before they run."""

from __future__ import annotations

from pathlib import Path

from .commands import run
from .settings import Settings


def key(path: Path, comment: str) -> str:
    """Make a key pair where there is none; return its public half."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path))
    return path.with_name(path.name + ".pub").read_text()


def administrator(wanted: Settings) -> str:
    """Return the public key that every node authorises."""
    return key(wanted.state / "id_ed25519", "testbed")


def client_configuration(wanted: Settings, nodes: dict[str, str]) -> None:
    """Write ``ssh_config``, by which ``ssh -F`` knows all nodes started so far."""
    folder = wanted.state / "nodes"
    folder.mkdir(exist_ok=True)
    for name, address in nodes.items():
        (folder / name).write_text(f"Host {name}\n    HostName {address}\n")
    (wanted.state / "ssh_config").write_text(
        "".join(path.read_text() for path in sorted(folder.iterdir())) + "Host *\n"
        "    User root\n"
        f'    IdentityFile "{wanted.state}/id_ed25519"\n'
        "    IdentitiesOnly yes\n"
        "    StrictHostKeyChecking yes\n"
        f'    UserKnownHostsFile "{wanted.state}/known_hosts"\n'
    )


def host_key_path(wanted: Settings, name: str) -> Path:
    """Return the path of a node's private host key."""
    return wanted.state / "host_keys" / name


def host_key(wanted: Settings, name: str, address: str) -> None:
    """Make a node's host key where there is none, and keep its public half in known_hosts.

    The key stays when the node is made anew, so that it is known before it answers.
    """
    public = key(host_key_path(wanted, name), name)
    known = wanted.state / "known_hosts"
    lines = set(known.read_text().splitlines()) if known.exists() else set()
    lines = {line for line in lines if line.split()[0] != address}
    lines.add(f"{address} {' '.join(public.split()[:2])}")
    known.write_text("\n".join(sorted(lines)) + "\n")
