"""Load NCCL as a framework would and ask it for its version."""

from __future__ import annotations

import ctypes

__all__ = ["version_code"]


def version_code(library: str) -> int:
    """Return what ``ncclGetVersion`` of the library tells.

    :param library: its name, found as the dynamic linker finds it, or its path.
    :raises OSError: the library or one that it needs cannot be loaded.
    :raises ValueError: it is no NCCL, or its call fails.
    """
    loaded = ctypes.CDLL(library)
    code = ctypes.c_int()
    try:
        result = loaded.ncclGetVersion(ctypes.byref(code))
    except AttributeError:
        raise ValueError(f"{library} has no ncclGetVersion: it is no NCCL") from None
    if result:
        raise ValueError(f"ncclGetVersion of {library} failed with ncclResult_t {result}")
    return code.value
