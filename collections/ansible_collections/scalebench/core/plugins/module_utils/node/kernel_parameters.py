"""Kernel parameters, read and set below /proc/sys."""

from __future__ import annotations

import os
from typing import Dict, List, Tuple

__all__ = ["KernelParameters"]

_SWAP_SEPARATORS = str.maketrans("./", "/.")


class KernelParameters:
    """Kernel parameters by the names of sysctl.d(5), with dots and slashes swapped.

    :param root: the folder of the parameters.
    """

    def __init__(self, root: str = "/proc/sys") -> None:
        self._root = root

    def differing(self, wanted: Dict[str, str]) -> Tuple[Dict[str, str], List[str]]:
        """Return the current values that differ from the wanted ones, and the names not writable.

        Parameters that this kernel does not have are in neither. White space between the numbers
        of a value is ignored. A container can write some parameters, such as those of the network;
        the others are its host's.

        :raises OSError: a parameter cannot be read.
        """
        present = {name for name in wanted if os.path.exists(self._path(name))}
        read_only = sorted(name for name in present if not os.access(self._path(name), os.W_OK))
        current = {name: self._value(name) for name in wanted if name in present - {*read_only}}
        differing = {name: kept for name, kept in current.items() if kept != _plain(wanted[name])}
        return differing, read_only

    def raised(self, minima: Dict[str, str]) -> Dict[str, str]:
        """Return the parameters with the larger of the value in force and the least one.

        Of a parameter that this kernel does not have, or whose value is no number, the least one.

        :raises OSError: a parameter cannot be read.
        """
        found = {}
        for name, least in minima.items():
            own = self._value(name) if os.path.exists(self._path(name)) else ""
            larger = own.isdecimal() and least.isdecimal() and int(own) > int(least)
            found[name] = own if larger else least
        return found

    def set(self, name: str, value: str) -> None:
        """Set a parameter until the next boot.

        :raises OSError: the kernel rejects the value.
        :raises ValueError: it accepts the value and keeps another one; the message has both.
        """
        with open(self._path(name), "w", encoding="ascii") as file:
            file.write(value)
        kept = self._value(name)
        if kept != _plain(value):
            raise ValueError(f"the kernel accepted {value}, and keeps {kept}")

    def _path(self, name: str) -> str:
        return os.path.join(self._root, name.translate(_SWAP_SEPARATORS))

    def _value(self, name: str) -> str:
        with open(self._path(name), encoding="ascii") as file:
            return _plain(file.read())


def _plain(value: str) -> str:
    return " ".join(value.split())
