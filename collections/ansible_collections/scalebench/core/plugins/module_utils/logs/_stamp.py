"""Times in logs, as seconds; without a time zone, so that only differences are meaningful."""

from __future__ import annotations

from array import array
from math import isnan, nan

from ._columns import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional, Sequence

__all__ = ["moment", "seconds"]


def seconds(texts: Sequence[str]) -> array[float]:
    """Return times as seconds since 1970 in UTC; NaN where a text is not a time.

    Formats: ``2020-12-10 12:21:09.010588`` (also with ``/``, ``T``, a comma, or no fraction),
    absl's ``0826 15:13:29.256277`` (without a year: 2000 is assumed, which has a 29 February), and
    unix seconds.
    """
    end = texts[0].rfind(":") + 1
    if not end:
        return numbers(texts)
    if "," in texts[0]:
        texts = "\n".join(texts).replace(",", ".").split("\n")
    minutes = _Minutes()
    try:
        return array("d", [minutes[text[:end]] + float(text[end:]) for text in texts])
    except ValueError:
        return array("d", [_one(text, minutes) for text in texts])


def moment(text: str) -> Optional[float]:
    """Return one time as seconds; None if the text is not a time."""
    value = seconds([text])[0]
    return None if isnan(value) else value


class _Minutes(dict):  # type: ignore[type-arg]
    """Seconds from 1970 to the minute of a text such as ``2020-12-10 12:21:``, computed once."""

    def __missing__(self, text: str) -> float:
        try:
            date, clock = text.replace("T", " ").split()
            hour, minute = clock.split(":")[:2]
            digits = date.replace("/", "-").split("-")
            if len(digits) == 1:
                digits = ["2000", date[:2], date[2:4]]
            year, month, day = map(int, digits)
            value = _days(year, month, day) * 86400.0 + int(hour) * 3600 + int(minute) * 60
        except ValueError:
            value = nan
        self[text] = value
        return value


def _one(text: str, minutes: Dict[str, float]) -> float:
    end = text.rfind(":") + 1
    try:
        return (minutes[text[:end]] if end else 0.0) + float(text[end:])
    except ValueError:
        return nan


def _days(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 in the Gregorian calendar.

    :raises ValueError: not a date.
    """
    if not (0 < year < 10000 and 0 < month < 13 and 0 < day < 32):
        raise ValueError(f"{year}-{month}-{day} is not a date")
    year -= month < 3
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + of_year - 719468
