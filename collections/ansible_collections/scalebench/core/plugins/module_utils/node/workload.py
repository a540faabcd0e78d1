"""The trainers on a node, by the digests of their files."""

from __future__ import annotations

import hashlib
import os
from typing import Dict

__all__ = ["digests"]

# Enough to tell two versions of a file apart.
_DIGITS = 16
# What a training leaves there.
_CACHE = "__pycache__"


def digests(folder: str) -> Dict[str, str]:
    """Return the beginning of the SHA-256 of each file by its path; none of a missing folder.

    :raises OSError: a file cannot be read.
    """
    found = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != _CACHE]
        for name in names:
            path = os.path.join(parent, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    digest = hashlib.sha256(file.read()).hexdigest()
                found[os.path.relpath(path, folder)] = digest[:_DIGITS]
    return dict(sorted(found.items()))
