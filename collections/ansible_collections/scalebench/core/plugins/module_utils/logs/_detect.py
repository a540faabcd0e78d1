"""Chooses the reader from the text."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Mapping, Tuple

    from ._format import Format

__all__ = ["choose", "fits"]

CLOSE = 2


def fits(text: str, readers: Mapping[str, Format]) -> Dict[str, int]:
    """Count the lines that only its format has for each reader that fits; 1 if no other does."""
    found = _fits(text, readers, lambda format_: format_.needles)
    found = found or _fits(text, readers, lambda format_: format_.end)
    certain = [name for name in found if not readers[name].fallback]
    if certain:
        found = dict.fromkeys(certain, 1)
    if len(found) > 1:
        for name in found:
            found[name] = sum(1 for _ in re.finditer(readers[name].signature, text))
    return found


def _fits(
    text: str, readers: Mapping[str, Format], words_of: Callable[[Format], Tuple[str, ...]]
) -> Dict[str, int]:
    """Find the readers with one of some words and their signature in a text."""
    found = {}
    for name, format_ in readers.items():
        for words in words_of(format_):
            if words in text and re.search(format_.signature, text):
                found[name] = 1
    return found


def choose(found: Mapping[str, int]) -> str:
    """Return the reader with the most lines.

    :raises ValueError: another reader has at least half as many, so that the text says not which.
    """
    ranked = sorted(found, key=lambda key: -found[key])
    close = [key for key in ranked if found[key] * CLOSE > found[ranked[0]]]
    if len(close) > 1:
        counts = ", ".join(f"{key} ({found[key]} lines)" for key in close)
        raise ValueError(f"more than one reader fits: {counts}; name one with reader")
    return ranked[0]
