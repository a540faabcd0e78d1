"""What one log format looks like, as data, and small helpers to read the settings it prints."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping, Optional, Tuple

    Fields = Mapping[str, Tuple[str, str, Callable[[str], Any]]]

__all__ = ["NUMBER", "Format", "fields", "flag", "truth"]

NUMBER = r"[-+0-9.eEnNaAiIfF]{1,32}"


class Format:
    """One log format.

    :param name: name of the reader.
    :param source: where the format comes from: project, file, and how it was learnt.
    :param needle: text that every observation line has (a cheap test before any pattern).
    :param observation: pattern of an observation; its groups are named as in ``_columns.FIELDS``.
        It must not cross lines without bound, nor repeat without bound inside a repeat.
    :param signature: pattern that only this format has; ``observation`` if not given.
    :param unit: unit of the throughput.
    :param scope: what a printed throughput counts: ``global``, ``per_device`` or ``rank``.
    :param start: texts that begin a run; a log may hold several runs one after another.
    :param end: texts that only a complete run prints; none: the format has no such line.
    :param identify: head of a run's text -> what it says of itself.
    :param notes: texts of lines that :param:`note` wants to see.
    :param note: (block, summary so far) -> None; adds what the log itself sums up.
    :param finish: (run, columns) -> None; last step, may derive fields.
    :param pairs: text of the first line where an observation takes two lines.
    """

    def __init__(
        self,
        name: str,
        source: str,
        needle: str,
        observation: str,
        signature: str = "",
        unit: str = "images/s",
        scope: str = "global",
        start: Tuple[str, ...] = (),
        end: Tuple[str, ...] = (),
        identify: Optional[Callable[[str], Dict[str, Any]]] = None,
        notes: Tuple[str, ...] = (),
        note: Optional[Callable[[str, Dict[str, Any]], None]] = None,
        finish: Optional[Callable[[Dict[str, Any], Any], None]] = None,
        pairs: str = "",
    ) -> None:
        self.name = name
        self.source = source
        self.needle = needle
        self.observation = observation
        self.signature = signature or observation
        self.unit = unit
        self.scope = scope
        self.start = start
        self.end = end
        self.identify = identify
        self.notes = notes
        self.note = note
        self.finish = finish
        self.pairs = pairs


def fields(head: str, wanted: Fields) -> Dict[str, Any]:
    """Look up settings in a text: ``{key: (a text that must be there, pattern, conversion)}``.

    The first match whose conversion works counts; a key that is not printed is left out.
    """
    found: Dict[str, Any] = {}
    for key, (needle, pattern, convert) in wanted.items():
        if needle not in head:
            continue
        match = re.search(pattern, head)
        if match:
            try:
                found[key] = convert(match.group(1))
            except (ValueError, OverflowError):
                continue
    return found


def truth(text: str) -> bool:
    """Read a printed flag: True, true, 1, yes, on; anything else is False."""
    return text.strip().lower() in {"true", "1", "yes", "on"}


def flag(text: str) -> Optional[bool]:
    """Read a printed flag, None where it is printed as None."""
    return None if text.strip().lower() in {"none", "null", ""} else truth(text)
