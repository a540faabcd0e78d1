"""ssh key pairs of this node, and logins from it on other nodes."""

from __future__ import annotations

import contextlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Dict, List

__all__ = ["SshKeys", "unreachable"]

# Below MaxStartups of the nodes' sshd, which all other nodes contact at the same time.
_AT_ONCE = 16


class SshKeys:
    """The key pairs in a folder that only its owner may read.

    :param folder: absolute path; created if missing.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def missing(self, names: List[str]) -> List[str]:
        """Return the names that do not have both halves of a pair."""
        return [
            name
            for name in names
            if not all(os.path.exists(path) for path in (self._path(name), self.public_path(name)))
        ]

    def public_path(self, name: str) -> str:
        """Return the path of a public key."""
        return self._path(name) + ".pub"

    def public(self, name: str) -> str:
        """Return a public key as one line; empty if it does not exist."""
        try:
            with open(self.public_path(name), encoding="utf-8") as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""

    def is_private(self) -> bool:
        """Return whether the folder exists with mode 0700."""
        try:
            return os.stat(self.folder).st_mode & 0o777 == 0o700
        except FileNotFoundError:
            return False

    def make_private(self) -> None:
        """Create the folder, and set its mode to 0700."""
        os.makedirs(self.folder, exist_ok=True)
        os.chmod(self.folder, 0o700)

    def make(self, name: str, kind: str, comment: str) -> None:
        """Create a pair, in place of an existing one.

        It is created beside the old pair and renamed, so that a full disk leaves the old one.

        :param kind: ``ed25519``, or ``rsa`` (3072 bits or more is what NIST SP 800-57 asks for
            beyond 2030; 4096 here).
        :raises ValueError: ssh-keygen is missing or fails.
        """
        part = self._path(name) + ".part"
        for path in (part, part + ".pub"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)
        bits = ["-b", "4096"] if kind == "rsa" else []
        command = ["ssh-keygen", "-q", "-t", kind, *bits, "-N", "", "-C", comment, "-f", part]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise ValueError("no ssh-keygen: install the package openssh-client") from None
        if done.returncode:
            raise ValueError(f"ssh-keygen for {self._path(name)}: {done.stderr.strip()}")
        os.replace(part, self._path(name))
        os.replace(part + ".pub", self.public_path(name))

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)


def unreachable(config: str, nodes: List[str], patience: float = 30.0) -> Dict[str, str]:
    """Return by node why an ssh login failed; empty if all succeeded.

    :param config: path of ssh's configuration (``ssh -F``), which has the nodes by name.
    :param patience: seconds that a login may take.
    :raises ValueError: ssh is not installed.
    """

    def reason(node: str) -> str:
        command = ["ssh", "-F", config, node, "true"]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=patience,
                check=False,
            )
        except FileNotFoundError:
            raise ValueError("no ssh: install the package openssh-client") from None
        except subprocess.TimeoutExpired:
            return f"no answer within {patience:.0f} s"
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return "" if done.returncode == 0 else lines[-1]

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reasons = dict(zip(nodes, pool.map(reason, nodes)))
    return {node: why for node, why in reasons.items() if why}
