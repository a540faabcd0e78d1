"""Draw packed repeats that run again alone, to measure how much neighbours disturb."""

from __future__ import annotations

import hashlib
from typing import Any, List, Mapping, Sequence

__all__ = ["sample_alone"]


def sample_alone(waves: Sequence[Mapping[str, Any]], seed: str, share: float = 0.1) -> List[int]:
    """Return the indices of a random sample of the repeats that had a neighbour, ascending.

    Each index gets the SHA-256 of ``<seed>:<index>`` and the smallest digests are drawn: without
    replacement, each repeat equally likely, the same on every machine and in every Python.

    :param waves: what ``schedule.waves`` returned.
    :param seed: any text; the campaign's name gives each campaign its own sample.
    :param share: how much of the packed repeats to draw, above 0 up to 1; at least one is drawn
        where any was packed.
    :raises ValueError: the share is out of range.
    """
    if not 0 < share <= 1:
        raise ValueError(f"the share {share} to run again alone is not above 0 and up to 1")
    packed = [
        seat["index"] for wave in waves if len(wave["repeats"]) > 1 for seat in wave["repeats"]
    ]
    drawn = sorted(packed, key=lambda index: hashlib.sha256(f"{seed}:{index}".encode()).digest())
    return sorted(drawn[: max(1, round(share * len(packed)))])
