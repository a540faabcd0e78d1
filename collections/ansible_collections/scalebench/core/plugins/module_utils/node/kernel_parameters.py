"""Read and set the kernel's parameters where it shows them, below /proc/sys."""

from __future__ import annotations

import os
from typing import Dict, List, Tuple

__all__ = ["KernelParameters"]

_OTHER_WAY = str.maketrans("./", "/.")


class KernelParameters:
    """Parameters by the names of sysctl.d(5): a dot parts, and a slash stands for a dot in a part.

    :param root: where the kernel shows them.
    """

    def __init__(self, root: str = "/proc/sys") -> None:
        self._root = root

    def differing(self, wanted: Dict[str, str]) -> Tuple[Dict[str, str], List[str]]:
        """Return the values in force that are not the wanted ones, and what cannot be written.

        A parameter that this kernel does not have is in neither. White space between the numbers of
        one value does not count. In a container some parameters are its own, as those of the
        network, and others its host's, which it cannot write.

        :raises OSError: one cannot be read.
        """
        there = {name for name in wanted if os.path.exists(self._path(name))}
        foreign = sorted(name for name in there if not os.access(self._path(name), os.W_OK))
        found = {name: self._value(name) for name in wanted if name in there.difference(foreign)}
        differing = {name: one for name, one in found.items() if one != _plain(wanted[name])}
        return differing, foreign

    def set(self, name: str, value: str) -> None:
        """Set a parameter until the next start.

        :raises OSError: the kernel refuses the value.
        :raises ValueError: it takes the value, and keeps another one; both are named.
        """
        with open(self._path(name), "w", encoding="ascii") as file:
            file.write(value)
        kept = self._value(name)
        if kept != _plain(value):
            raise ValueError(f"the kernel was told {value}, and keeps {kept}")

    def _path(self, name: str) -> str:
        return os.path.join(self._root, name.translate(_OTHER_WAY))

    def _value(self, name: str) -> str:
        with open(self._path(name), encoding="ascii") as file:
            return _plain(file.read())


def _plain(value: str) -> str:
    return " ".join(value.split())
