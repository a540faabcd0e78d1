"""The line of a failed run's output that names the error."""

from __future__ import annotations

import re

__all__ = ["telling_line"]

_ERROR = re.compile(r"\b([A-Za-z_][\w.]*(Error|Exception)|error|fatal)\s*:\s*\S", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z]{2}")
_LONGEST = 300


def telling_line(output: str) -> str:
    """Return the first line that names an error, else the last with a word in it, else nothing.

    The first, because launchers print their own error after that of the rank that caused it.
    Lines are cut at 300 characters.
    """
    lines = [line.strip() for line in re.split(r"[\r\n]+", output)]
    errors = (line for line in lines if _ERROR.search(line))
    words = (line for line in reversed(lines) if _WORDS.search(line))
    return next(errors, next(words, ""))[:_LONGEST]
