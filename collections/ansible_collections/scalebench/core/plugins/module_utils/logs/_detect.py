"""Chooses the reader from the text."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Mapping

    from ._format import Format

__all__ = ["choose", "fits"]

CLOSE = 2


def fits(text: str, readers: Mapping[str, Format]) -> Dict[str, int]:
    """Count, for each reader, the lines that only its format has; leave out those with none."""
    found = {}
    for name, format_ in readers.items():
        if any(words in text for words in (format_.needles[-1], *format_.start, *format_.end)):
            count = sum(1 for _ in re.finditer(format_.signature, text))
            if count:
                found[name] = count
    return found


def choose(found: Mapping[str, int], name: str) -> str:
    """Return the reader with the most lines.

    :raises ValueError: another reader has at least half as many, so that the text says not which.
    """
    ranked = sorted(found, key=lambda key: -found[key])
    close = [key for key in ranked if found[key] * CLOSE > found[ranked[0]]]
    if len(close) > 1:
        counts = ", ".join(f"{key} ({found[key]} lines)" for key in close)
        raise ValueError(f"{name}: more than one reader fits: {counts}; name one with reader")
    return ranked[0]
