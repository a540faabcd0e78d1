"""Times as logs print them, in seconds; the zone is not printed, so only differences mean much."""

from __future__ import annotations

from math import nan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Sequence

__all__ = ["seconds"]

LONGEST_CACHE = 100_000


def seconds(texts: Sequence[str]) -> List[float]:
    """Return times as seconds, NaN where a text is no time.

    Known: ``2020-12-10 12:21:09.010588`` (also ``/``, ``T``, a comma, or no fraction), absl's
    ``0826 15:13:29.256277`` (it prints no year: 2000 is taken, as it has a 29 February), and unix
    seconds. Nobody prints a zone: UTC is taken.
    """
    minutes: Dict[str, float] = {}
    found: List[float] = []
    for text in texts:
        end = text.rfind(":") + 1
        if not end:
            found.append(_float(text))
            continue
        minute = text[:end]
        base = minutes.get(minute)
        if base is None:
            if len(minutes) > LONGEST_CACHE:
                minutes.clear()
            base = minutes[minute] = _minute(minute)
        found.append(base + _float(text[end:]))
    return found


def _minute(text: str) -> float:
    """Seconds from 1970 to the minute that ``2020-12-10 12:21:`` names."""
    try:
        date, clock = text.replace("T", " ").split()
        hour, minute = clock.split(":")[:2]
        digits = date.replace("/", "-").split("-")
        if len(digits) == 1:
            digits = ["2000", date[:2], date[2:4]]
        year, month, day = map(int, digits)
        return _days(year, month, day) * 86400.0 + int(hour) * 3600 + int(minute) * 60
    except ValueError:
        return nan


def _days(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 in the Gregorian calendar."""
    if not (0 < year < 10000 and 0 < month < 13 and 0 < day < 32):
        raise ValueError(f"{year}-{month}-{day} is no date")
    year -= month < 3
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + of_year - 719468


def _float(text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return nan
