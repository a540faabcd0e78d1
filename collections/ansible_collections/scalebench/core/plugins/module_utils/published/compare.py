"""A measured set against published figures: comparable or not and why, and only then a ratio."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.scalebench.core.plugins.module_utils.published.conditions import (
    DECISIVE,
    apart,
    judge,
    plain_conditions,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.rows import MEASURES
from ansible_collections.scalebench.core.plugins.module_utils.stats.log_ratio import MARGIN, holm
from ansible_collections.scalebench.core.plugins.module_utils.stats.median_ratio import finding
from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import finite, median

__all__ = ["compare", "compare_published", "has_figure"]

Row = Dict[str, Any]

# A published row, and its plain conditions.
_Known = Tuple[Mapping[str, Any], Mapping[str, Any]]
# What a training to a target reaches, and its words.
_TARGETS = {"target_accuracy": "{} %", "target_loss": "loss {}"}
_KINDS = ("reference", "official", "extra")


def has_figure(row: Mapping[str, Any]) -> bool:
    """Whether a published row has a figure that a cell can be compared with."""
    return any(row.get(name) for name in ("throughput", *MEASURES))


def _speeds(row: Mapping[str, Any]) -> List[float]:
    runs = row.get("runs") or {}
    values = list(runs.values()) if isinstance(runs, Mapping) else list(runs)
    return finite(values, "runs") if values else []


def _throughput(row: Mapping[str, Any], side: str) -> float:
    """Return the throughput in units/s, or else the median of the runs.

    :raises ValueError: there is neither.
    """
    value = row.get("throughput") or (median(_speeds(row)) if _speeds(row) else None)
    if value is None:
        raise ValueError(f"{side} {row.get('id') or row.get('topology')}: no throughput to compare")
    return finite([value], f"throughput of the {side}")[0]


def compare(
    measured: Mapping[str, Any],
    published: Mapping[str, Any],
    waive: Sequence[str] = (),
    *,
    tolerance: float = MARGIN,
    level: float = 0.9,
) -> Row:
    """Compare one measured cell with one published row.

    ``measured``: a cell's conditions (framework, model, gpu or ``device: cpu``, topology,
    precision, batch_size_per_device, …), ``runs`` in units/s, and ``throughput``, by default
    their median. ``waive`` names conditions whose difference is accepted, and named in the result.
    Returns what :func:`conditions.judge` does, both throughputs, and ratio, its interval low to
    high at ``level``, p_difference, beyond_repeats (whether the scatter of repeats explains the
    difference in at most 1 - level of the cases) and finding (equivalent, faster, slower,
    undecided, at the margin ``tolerance``): None unless the verdict is comparable; and
    ``measures``: of :data:`rows.MEASURES` those that both sides have, compared (ours over theirs,
    of an accuracy ours less theirs in points; None and ``why`` where targets or epochs differ).

    A row of which only other figures were published has no ratio.

    :raises ValueError: a condition to waive is unknown, or a side has no figure.
    """
    ours = _throughput(measured, "measured set")
    theirs = None
    if published.get("throughput") or published.get("runs") or not has_figure(published):
        theirs = _throughput(published, "published row")
    judged = judge(measured, published, waive)
    result: Row = {
        "published": published.get("id"),
        "kind": published.get("kind"),
        **judged,
        "measured_throughput": ours,
        "published_throughput": theirs,
        "errata": list(published.get("errata") or []),
    }
    nothing = dict.fromkeys(("ratio", "low", "high", "p_difference", "beyond_repeats", "finding"))
    if judged["verdict"] != "comparable":
        return {**result, **nothing, "measures": []}
    measures = [measure for name in MEASURES for measure in _measure(name, measured, published)]
    if theirs is None:
        return {**result, **nothing, "why": "no published throughput", "measures": measures}
    figures = finding(_speeds(measured), published, theirs, tolerance, level)
    return {**result, "ratio": ours / theirs, **figures, "measures": measures}


def _measure(name: str, measured: Mapping[str, Any], published: Mapping[str, Any]) -> List[Row]:
    """Return the comparison of a figure beside the throughput; nothing where a side has none."""
    ours, theirs = measured.get(name), published.get(name)
    if ours is None or theirs is None:
        return []
    epochs = [side.get("epochs") for side in (measured, published)]
    why = ""
    if name == "time_to_train_seconds" and _target(measured) != _target(published):
        why = f"target {_target(measured)} measured, {_target(published)} published"
    elif name != "end_to_end_throughput" and epochs[0] != epochs[1]:
        why = f"{epochs[0] or 'unknown'} epochs measured, {epochs[1] or 'unknown'} published"
    compared = None if why else MEASURES[name].compare(ours, theirs)
    return [{"measure": name, "measured": ours, "theirs": theirs, "compared": compared, "why": why}]


def _target(side: Mapping[str, Any]) -> str:
    known = [form.format(side[key]) for key, form in _TARGETS.items() if side.get(key) is not None]
    return " and ".join(known) or "unknown"


def compare_published(
    measured: Any,
    published: Sequence[Mapping[str, Any]],
    waive: Sequence[str] = (),
    *,
    tolerance: float = MARGIN,
    level: float = 0.9,
    nearest: int = 1,
) -> List[Row]:
    """Compare each measured cell with the published rows that are nearest to it.

    Returned per cell: every comparable row; where there is none, the ``nearest`` rows by the
    number of conditions that differ or are unknown, and of as many those that agree in what
    ``DECISIVE`` names first. Rows of another model are offered only where its own has none, rows in
    another unit never: such a cell has none at all. Over all rows together beyond_repeats is wrong
    of equals in at most 1 - level of the cases (Holm), and only such a row is faster or slower.
    ``measured``: one cell or a list of them, see :func:`compare`; ``cell`` in a result is the
    cell's id, directory or topology.

    :raises ValueError: see :func:`compare`.
    """
    known: Dict[Any, List[_Known]] = {}
    for row in published:
        if has_figure(row):
            plain = plain_conditions(row)
            # A cell whose unit is not known may have any.
            for unit in dict.fromkeys((plain["unit"], None)):
                known.setdefault(unit, []).append((row, plain))
    found = [
        {
            "cell": cell.get("id") or cell.get("directory") or cell.get("topology") or "",
            **compare(cell, row, waive, tolerance=tolerance, level=level),
        }
        for cell in ([measured] if isinstance(measured, Mapping) else list(measured))
        for row in _nearest(plain_conditions(cell), known, waive, nearest)
    ]
    tested = [one for one in found if one["p_difference"] is not None]
    for one, corrected in zip(tested, holm([one["p_difference"] for one in tested])):
        one.update(p_difference=corrected, beyond_repeats=corrected <= 1 - level)
        if one["finding"] in ("faster", "slower") and not one["beyond_repeats"]:
            one["finding"] = "undecided"
    return found


def _nearest(
    cell: Mapping[str, Any],
    known: Mapping[Any, Sequence[_Known]],
    waive: Sequence[str],
    count: int,
) -> List[Mapping[str, Any]]:
    """Return the rows with all of the cell's conditions, or else those nearest to it, in order.

    :param known: by unit, rows and their plain conditions.
    """
    published = known.get(cell["unit"], ())
    if "model" not in waive:
        published = [one for one in published if one[1]["model"] == cell["model"]] or published

    def distance(item: Tuple[List[str], Mapping[str, Any]]) -> Any:
        names, row = item
        kind = row["kind"] if row.get("kind") in _KINDS else _KINDS[-1]
        return len(names), [condition in names for condition in DECISIVE], _KINDS.index(kind)

    by_distance = sorted(
        ((apart(cell, plain, waive), row) for row, plain in published), key=distance
    )
    return [row for names, row in by_distance if not names] or [
        row for _, row in by_distance[:count]
    ]
