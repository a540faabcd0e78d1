"""Make the ssh key pairs that are missing in a folder."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import List

__all__ = ["SshKeys"]


class SshKeys:
    """Key pairs in a folder of their own, that only its owner may read.

    :param folder: absolute path; made where it is missing.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def missing(self, names: List[str]) -> List[str]:
        """Return the names that have no whole pair yet."""
        return [
            name
            for name in names
            if not all(os.path.exists(path) for path in (self._path(name), self.public_path(name)))
        ]

    def public_path(self, name: str) -> str:
        """Return the path of a pair's public half."""
        return self._path(name) + ".pub"

    def public(self, name: str) -> str:
        """Return a pair's public half in one line, empty where there is none."""
        try:
            with open(self.public_path(name), encoding="utf-8") as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""

    def is_private(self) -> bool:
        """Return whether the folder is there and open to nobody but its owner."""
        try:
            return os.stat(self.folder).st_mode & 0o777 == 0o700
        except FileNotFoundError:
            return False

    def make_private(self) -> None:
        """Make the folder, or close it to others."""
        os.makedirs(self.folder, exist_ok=True)
        os.chmod(self.folder, 0o700)

    def make(self, name: str, kind: str, comment: str) -> None:
        """Make a pair in the place of the one that may be there.

        A new pair is made beside the old one and renamed, so that a full disk leaves the old one.

        :param kind: ``ed25519``, or ``rsa`` (3072 bits or more is what NIST SP 800-57 asks for
            beyond 2030; 4096 here).
        :raises ValueError: ssh-keygen is missing or refuses.
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
