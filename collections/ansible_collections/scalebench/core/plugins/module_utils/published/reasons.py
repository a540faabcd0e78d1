"""Why published results are not comparable with cells, in words."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Sequence

from .cell_conditions import STATABLE
from .conditions import CPU
from .sources import row_title

__all__ = ["condition_words", "why_not_compared"]

Found = Mapping[str, Any]


def why_not_compared(found: Found) -> Iterator[str]:
    """Say for each group of cells why no published figure can be held against it.

    :param found: of ``against_published.against_published``.
    """
    alone = len(found["not_compared"]) == 1 and not found["compared"]
    for group in found["not_compared"]:
        cells = f"these cells ({_named(group['cells'])})" if alone else _named(group["cells"])
        apart, unknown = group["differences"], group["unknown"]
        nearest = f"The nearest, {row_title(group['nearest'])}, has"
        if apart:
            never = [condition_words(one["condition"], one["measured"]) for one in group["never"]]
            why = f": none was measured with {' or '.join(never)}" if never else ""
            yield f"Nothing published is comparable with {cells}{why}. {nearest} {_instead(group)}."
        else:
            yield (
                f"Whether anything published is comparable with {cells} cannot be told:"
                f" {_unknown(unknown)}. {nearest} {_instead(group)}.{_advice(unknown)}"
            )


def _named(cells: Sequence[Found]) -> str:
    groups: Dict[str, List[str]] = {}
    for cell in cells:
        name = f"{cell['benchmark']} {cell['precision']} {cell['variant']}"
        groups.setdefault(name, []).append(cell["topology"])
    return "; ".join(f"{name} {', '.join(places)}" for name, places in groups.items())


def _unknown(unknown: Sequence[Found]) -> str:
    ours = [_plain(one["condition"]) for one in unknown if one["measured"] is None]
    theirs = [_plain(one["condition"]) for one in unknown if one["measured"] is not None]
    said = [f"{', '.join(ours)} of this campaign not known"] if ours else []
    return ", ".join([*said, *([f"{', '.join(theirs)} not published"] if theirs else [])])


def _instead(group: Found) -> str:
    """Return what the nearest row has, where that is or may be something else than the cells."""
    said = []
    for one in (*group["differences"], *group["unknown"]):
        known = one["published"] is not None
        here = f" (here {_value(one['measured'])})" if one["measured"] is not None else ""
        name = one["condition"]
        said.append(
            (condition_words(name, one["published"]) if known else f"no {_plain(name)}") + here
        )
    return ", ".join(said)


def _advice(unknown: Sequence[Found]) -> str:
    names = [one["condition"] for one in unknown if one["measured"] is None]
    missing = [name for name in names if name in STATABLE]
    example = ",".join(f"{name}=…" for name in missing)
    return f" If you know them, state them: -e conditions='{example}'." if missing else ""


def condition_words(name: str, value: Any) -> str:
    """Return a condition for people: ``batch size per device 128``, ``xla off``, ``device CPU``."""
    return "device CPU" if value == CPU else f"{_plain(name)} {_value(value)}"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _value(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
