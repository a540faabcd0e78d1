"""Files that are on the disk before they count, also after a power failure."""

from __future__ import annotations

import os

__all__ = ["replace"]


def replace(part: str, path: str) -> None:
    """Put a written file, or a link, in the place of another, at once and durably.

    :raises OSError: it cannot be written or renamed.
    """
    if not os.path.islink(part):
        _sync(part)
    os.replace(part, path)
    _sync(os.path.dirname(path) or ".")


def _sync(path: str) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
