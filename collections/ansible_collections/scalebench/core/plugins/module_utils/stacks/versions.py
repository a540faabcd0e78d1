"""Version numbers: parsed, compared, and decoded from NCCL's version code."""

from __future__ import annotations

import re
from typing import Tuple

__all__ = ["branch", "nccl_version", "numbers", "same_release"]


def numbers(version: str) -> Tuple[int, ...]:
    """Return the numbers of a version, for comparison: ``440.33.01`` gives (440, 33, 1).

    :raises ValueError: the version contains no number.
    """
    parts = tuple(int(text) for text in re.findall(r"\d+", version))
    if not parts:
        raise ValueError(f"{version!r:.80} is not a version")
    return parts


def branch(version: str) -> int:
    """Return the branch of a driver version: 440 for ``440.33.01``.

    :raises ValueError: as ``numbers``.
    """
    return numbers(version)[0]


def same_release(version: str, package_version: str) -> bool:
    """Return whether a package is of a release, whatever its packaging revision.

    ``580.159.04`` is ``580.159.04-1`` and ``1:580.159.04-0ubuntu1``, not ``580.159.041-1``.
    """
    bare = package_version.split(":", 1)[-1]
    return re.match(rf"{re.escape(version)}(?![0-9.])", bare) is not None


def nccl_version(code: int) -> str:
    """Return the version for a code of ``ncclGetVersion``: 22203 is 2.22.3, 2703 is 2.7.3.

    Macro ``NCCL_VERSION`` of nccl.h: the major version counts thousands up to 2.8, ten thousands
    after it.
    """
    if code < 10000:
        return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10000}.{code // 100 % 100}.{code % 100}"
