"""Read the number in which NCCL tells its version."""

from __future__ import annotations

__all__ = ["nccl_version"]


def nccl_version(code: int) -> str:
    """Return the version that ``ncclGetVersion`` tells: 22203 is 2.22.3, 2703 is 2.7.3.

    Macro ``NCCL_VERSION`` of nccl.h: up to 2.8 the major version counts thousands, then ten
    thousands.
    """
    if code < 10000:
        return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10000}.{code // 100 % 100}.{code % 100}"
