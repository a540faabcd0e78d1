"""Limits of sessions, as pam_limits(8) reads them from limits.conf(5): which must be raised."""

from __future__ import annotations

import glob
import os
import resource
from typing import Dict, Iterable, List, Mapping, Optional, Tuple

__all__ = ["limits_in_force", "raised_limits", "texts_of_limits"]

# The wildcard does not hold for root.
_WHO = ("*", "root")
# Resource, and bytes of a unit of limits.conf.
_ITEMS = {
    "memlock": (resource.RLIMIT_MEMLOCK, 1024),
    "nofile": (resource.RLIMIT_NOFILE, 1),
    "stack": (resource.RLIMIT_STACK, 1024),
}
_UNLIMITED = float("inf")
Setting = Tuple[str, str, str]  # domain, soft or hard, item


def raised_limits(
    wanted: Mapping[str, str],
    texts: Iterable[str],
    own_text: str,
    in_force: Mapping[Tuple[str, str], float],
) -> List[str]:
    """Return the lines of limits.conf that raise limits to the wanted ones, and lower none.

    What the site's files set counts, or else what is in force. That our own lines of an earlier
    run are in force does not take them away.

    :param wanted: KiB or a number, or ``unlimited``, by item; empty for one that does not matter.
    :param texts: the site's files in the order in which they are read.
    :param own_text: our file of an earlier run.
    :param in_force: limits by ``soft`` or ``hard`` and item.
    :raises ValueError: a wanted value is neither a number nor ``unlimited``.
    """
    of_site: Dict[Setting, float] = {}
    for text in texts:
        of_site.update(_settings(text))
    own = _settings(own_text)
    lines = []
    for who in _WHO:
        for item, value in wanted.items():
            least = _number(value) if value else None
            if value and least is None:
                raise ValueError(f"{item} is {value!r}: write a number, or unlimited")
            low = [
                kind
                for kind in ("soft", "hard")
                if least is not None and _lower(of_site, own, in_force, (who, kind, item), least)
            ]
            if low:
                lines.append(f"{who} {low[0] if len(low) == 1 else '-'} {item} {value}")
    return lines


def _lower(
    of_site: Mapping[Setting, float],
    own: Mapping[Setting, float],
    in_force: Mapping[Tuple[str, str], float],
    setting: Setting,
    least: float,
) -> bool:
    if setting in of_site:
        return of_site[setting] < least
    return setting in own or in_force[setting[1:]] < least


def _settings(text: str) -> Dict[Setting, float]:
    """Return the limits that a file sets for everybody and for root."""
    found: Dict[Setting, float] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        value = _number(words[3]) if len(words) == 4 else None
        if value is not None and words[0] in _WHO and words[2] in _ITEMS:
            for kind in ("soft", "hard") if words[1] == "-" else (words[1],):
                found[words[0], kind, words[2]] = value
    return found


def _number(text: str) -> Optional[float]:
    if text in ("unlimited", "infinity", "-1"):
        return _UNLIMITED
    return float(text) if text.isdecimal() else None


def texts_of_limits(own: str, folder: str = "/etc/security") -> Tuple[List[str], str]:
    """Return the texts of the site's files in the order of pam_limits, and of our own file.

    :param own: path of our own file.
    """
    paths = [f"{folder}/limits.conf", *sorted(glob.glob(f"{folder}/limits.d/*.conf"))]
    texts = {}
    for path in filter(os.path.exists, paths):
        with open(path, encoding="utf-8", errors="replace") as file:
            texts[path] = file.read()
    return [text for path, text in texts.items() if path != own], texts.get(own, "")


def limits_in_force() -> Dict[Tuple[str, str], float]:
    """Return the limits of this process, in the units of limits.conf."""
    found = {}
    for item, (number, unit) in _ITEMS.items():
        for kind, value in zip(("soft", "hard"), resource.getrlimit(number)):
            found[kind, item] = _UNLIMITED if value == resource.RLIM_INFINITY else value / unit
    return found
