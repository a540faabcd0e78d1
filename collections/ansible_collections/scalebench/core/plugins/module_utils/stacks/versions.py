"""Compare version numbers."""

from __future__ import annotations

import re
from typing import Tuple

__all__ = ["branch", "numbers", "same_release"]


def numbers(version: str) -> Tuple[int, ...]:
    """Return the numbers of a version, to be compared: ``440.33.01`` is (440, 33, 1).

    :raises ValueError: the version holds no number.
    """
    found = tuple(int(text) for text in re.findall(r"\d+", version))
    if not found:
        raise ValueError(f"{version!r} is no version")
    return found


def branch(version: str) -> int:
    """Return the driver branch that a driver version belongs to: 440 of ``440.33.01``.

    :raises ValueError: as ``numbers``.
    """
    return numbers(version)[0]


def same_release(version: str, package_version: str) -> bool:
    """Return whether a package is that release, whatever revision its packager gave it.

    ``580.159.04`` is ``580.159.04-1`` and ``1:580.159.04-0ubuntu1``, not ``580.159.041-1``.
    """
    bare = package_version.split(":", 1)[-1]
    return re.match(rf"{re.escape(version)}(?![0-9.])", bare) is not None
