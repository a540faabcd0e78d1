"""What a column of a report is, and in which outputs it can stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Tuple

__all__ = [
    "CSV",
    "JUNIT",
    "MODEL",
    "PROMETHEUS",
    "REPORT",
    "SPEED",
    "SPREAD",
    "TERMINAL",
    "Column",
    "of",
]

# A cell or a repeat.
Item = Mapping[str, Any]
# The outputs: the terminal's table, the tables of report.md and report.html (cells, spread of the
# repeats, model and steps), the other files.
TERMINAL, REPORT, SPREAD, MODEL = "terminal", "report", "spread", "model"
CSV, JUNIT, PROMETHEUS = "csv", "junit", "prometheus"

# The unit of a figure that is in the unit of the cell's throughput.
SPEED = "speed"


@dataclass(frozen=True)
class Column:
    """One figure.

    ``key``: its name in files. ``get``: reads it from a cell (or a repeat); None where unknown.
    ``outputs``: which show it. ``title``: its heading in tables for people, which show
    ``factor`` times the value, with ``decimals`` places, or what ``show`` returns instead.
    ``unit``: of the value in files; SPEED stands for that of the cell's throughput.
    ``always``: its column stands in a report even where no cell has a value; ``known``: in no
    output but where one has. ``metric`` and ``about``: name and HELP of its Prometheus gauge,
    ``labels`` those it has beside the cell's.
    """

    key: str
    get: Callable[[Any], Any]
    outputs: Tuple[str, ...]
    title: str = ""
    unit: str = ""
    factor: float = 1
    decimals: int = 2
    show: Optional[Callable[[Any], Any]] = None
    always: bool = False
    known: bool = False
    metric: str = ""
    about: str = ""
    labels: Tuple[Tuple[str, str], ...] = ()

    def shown(self, item: Item) -> Any:
        """Return the value as tables for people hold it."""
        if self.show:
            return self.show(item)
        value = self.get(item)
        return value if value is None or self.factor == 1 else value * self.factor


def of(*path: str) -> Callable[[Item], Any]:
    """Return a getter of a value below these keys; None where a part of the path is missing."""

    def get(item: Item) -> Any:
        value: Any = item
        for key in path:
            value = (value or {}).get(key)
        return value

    return get
