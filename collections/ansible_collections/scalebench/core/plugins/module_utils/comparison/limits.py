"""What a rule of a gate and a line of an acceptance may limit: ranges of values, and cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Dict, List, Mapping, Sequence

from ..records.cells import IDENTITY_KEYS
from ..records.factors import WEAK, missing_value
from .busbw_floors import checked_floors, floors_text, has_floor

__all__ = [
    "Limit",
    "checked_day",
    "checked_value",
    "checked_where",
    "is_number",
    "selected",
    "selector_text",
    "value_text",
]

# What a rule may select cells by.
_SELECTORS = (*IDENTITY_KEYS, "scaling")
# A limit of scaling holds for the weak one, whose ideal is another, unless the rule says otherwise.
_USUALLY: Mapping[str, Mapping[str, str]] = {
    "min_efficiency": {"scaling": WEAK},
    "min_speedup": {"scaling": WEAK},
}


@dataclass(frozen=True)
class Limit:
    """What a value means (``about``) and may be: below ``below`` (at most, ``closed``).

    ``above``: it is above 0, else 0 or more; ``whole``: a whole number; ``by_fabric``: a table of
    :mod:`busbw_floors` instead of a number.
    """

    about: str
    below: float = math.inf
    closed: bool = False
    above: bool = False
    whole: bool = False
    by_fabric: bool = False


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value)


def checked_value(name: str, of: Limit, value: Any) -> Any:
    """Return the value of a rule.

    :param name: of the rule, for the error.
    :raises ValueError: it is out of range.
    """
    if of.by_fabric:
        return checked_floors(name, value)
    if not is_number(value) or value < 0:
        raise ValueError(f"{name}: {value!r} is not a number of 0 or more: {of.about}")
    if value > of.below or (value == of.below and not of.closed):
        raise ValueError(f"{name}: {value!r} is not a share: {of.about}")
    if of.above and value == 0:
        raise ValueError(f"{name}: {value!r} is not above 0: {of.about}")
    if of.whole and int(value) != value:
        raise ValueError(f"{name}: {value!r} is not a whole number")
    return value


def value_text(value: Any) -> str:
    """Return the value of a rule in words."""
    return floors_text(value) if isinstance(value, Mapping) else f"{value:g}"


def checked_day(value: Any) -> float:
    """Return the standard deviation of days that a rule states, as a share.

    :raises ValueError: it is no share.
    """
    if not is_number(value) or not 0 <= value < 1:
        raise ValueError(f"day_sd: {value!r} is not a share below 1, e.g. 0.001 for 0.1 %")
    return float(value)


def checked_where(where: Any) -> Dict[str, str]:
    """Return the globs by which a rule selects cells.

    :raises ValueError: not a mapping from names of _SELECTORS to globs.
    """
    if not isinstance(where, Mapping):
        raise ValueError(f"where: {where!r} is not a mapping; its keys are {', '.join(_SELECTORS)}")
    for name, glob in where.items():
        if name not in _SELECTORS:
            raise ValueError(
                f"where: there is no {name!r}; the choices are {', '.join(_SELECTORS)}"
            )
        if not isinstance(glob, str) or not glob:
            raise ValueError(f"where: {name}: {glob!r} is not a text, as '4n*' or amp")
    return dict(where)


def selected(cells: Sequence[Mapping[str, Any]], rule: Mapping[str, Any]) -> List[Any]:
    """Return the cells, planned or measured, that a rule or a line holds for.

    Floors of bus bandwidth hold for messages of the sizes that they name alone.
    """
    where = {**_USUALLY.get(rule["metric"], {}), **rule["where"]}
    floors = rule.get("value")
    return [
        cell
        for cell in cells
        if (not isinstance(floors, Mapping) or has_floor(cell, floors))
        and all(
            fnmatchcase(str(cell.get(name) or missing_value(name)), glob)
            for name, glob in where.items()
        )
    ]


def selector_text(rule: Mapping[str, Any]) -> str:
    """Return the cells that a rule holds for, ``model r50, topology 4n*``; empty for all."""
    return ", ".join(f"{name} {glob}" for name, glob in rule["where"].items())
