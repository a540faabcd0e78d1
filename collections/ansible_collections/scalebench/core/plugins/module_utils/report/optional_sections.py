"""The sections that only some reports have: training time, drift, searches, packing …"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple

from ..acceptance.acceptance_text import acceptance_sections
from ..comparison import across_text
from ..comparison.bisect import bisect_sections
from ..comparison.comparison_text import comparison_sections
from ..comparison.gate_text import gate_sections
from ..comparison.treatments_text import treatment_sections
from ..layout.groups import machines
from ..layout.sections import Section, quote, section, table, unquoted
from ..preflight.verdict import to_mend
from ..published import text as published_text
from ..records.cells import cell_key
from ..records.node_names import folded
from ..records.results import MeasuredCell, Repeat, Results
from ..results.cells import with_speed
from ..stats.statistics import median
from .collectives_text import collective_sections
from .step_text import step_sections
from .strong_text import strong_sections
from .telemetry_text import telemetry_sections, waits_sections

__all__ = ["after_sections", "before_sections", "training_times"]

# A cluster of hundreds of nodes with the same problem; preflight.json has all rows.
_MOST_ROWS = 100


def before_sections(results: Results) -> List[Section]:
    """Return the sections that stand before the tables of a report.

    :param results: of ``results.build_results``, or results.json.
    """
    return [one for build in _BEFORE for one in build(results)]


def after_sections(results: Results) -> List[Section]:
    """Return the sections that stand after the repeats: searches, packing, telemetry."""
    return [one for build in _AFTER for one in build(results)]


def training_times(results: Results) -> List[str]:
    """Return a sentence for each cell with a target accuracy, reached or not."""
    sentences = []
    for cell in results["cells"]:
        times_to_train = [one["time_to_train"] for one in with_speed(_evaluated(cell))]
        aimed = [one for one in times_to_train if one["target_accuracy"] is not None]
        if not aimed:
            continue
        target = f"{aimed[0]['target_accuracy']:g} % top-1"
        times = [one["time_to_target"] for one in aimed if one["time_to_target"] is not None]
        best = max(one["best_accuracy"] or 0.0 for one in aimed)
        if times:
            text = f"{target} after {median(times):.1f} s"
            text += f" (median of {len(times)})" if len(times) > 1 else ""
        else:
            text = f"{target} was not reached"
        if times and len(times) < len(aimed):
            text += f"; {len(aimed) - len(times)} of {len(aimed)} repeats did not reach it"
        sentences.append(f"{cell_key(cell).short}: {text}; best {best:g} %.")
    return sentences


def _training_time(results: Results) -> List[Section]:
    rows = [_training_row(cell, one) for cell in results["cells"] for one in _evaluated(cell)]
    if not rows:
        return []
    about = (
        "Seconds from the start of the trainer to the first evaluation at the target, including"
        " start-up and evaluations. The throughput counts training steps only; end to end it is"
        " all samples over all seconds."
    )
    tables = [table("Each repeat with evaluations", rows)]
    return [section("time-to-train", "Time to train", [about], tables, training_times(results))]


def _evaluated(cell: MeasuredCell) -> List[Repeat]:
    """Return the repeats that trained to a target, or show how accuracy grew.

    Logs of other measurements may end with one evaluation, which is not a time to train.
    """
    return [
        repeat
        for repeat in cell["repeats"]
        if repeat.get("time_to_train")
        and (
            repeat["time_to_train"]["target_accuracy"] is not None
            or repeat["time_to_train"]["evaluations"] > 1
        )
    ]


def _training_row(cell: MeasuredCell, repeat: Repeat) -> Dict[str, Any]:
    training = repeat["time_to_train"]
    return {
        "cell": cell_key(cell).short,
        "repeat": repeat["repeat"],
        "target top-1 %": training["target_accuracy"],
        "time to train s": training["time_to_target"],
        "at epoch": training["target_epoch"],
        "epochs": training["epochs"],
        "best top-1 %": training["best_accuracy"],
        "total s": training["total_time"],
        "throughput": repeat["throughput"],
        "end to end": training["end_to_end_throughput"],
    }


def _preflight(results: Results) -> List[Section]:
    preflight = results.get("preflight")
    if not preflight:
        return []
    headings = {"todo": "what to do"}
    rows = [
        {headings.get(key, key): words for key, words in row.items()}
        for row in to_mend(preflight["rows"])
    ]
    summary = preflight["summary"]
    sentences = [f"{summary[:1].upper()}{summary[1:]}."]
    if len(rows) > _MOST_ROWS:
        sentences.append(f"The first {_MOST_ROWS} of {len(rows)}; preflight.json has them all.")
    tables = [table("Failed checks and warnings", rows[:_MOST_ROWS])] if rows else []
    return [section("preflight", "Preflight", sentences, tables)]


def _drift(results: Results) -> List[Section]:
    found = results.get("drift")
    if not found:
        return []
    about = (
        "Change of the throughput from the first repeat to the last (Theil and Sen), with its"
        f" interval of {found['level']:.0%}; Kendall's test for a trend, with at most"
        f" {1 - found['level']:.0%} false alarms in the whole campaign where repeats are"
        f" independent. It takes {found['least']} repeats of a cell."
    )
    tables = [table("Cells", [_drift_row(cell) for cell in found["cells"]])]
    return [section("drift", "Drift", [about], tables)]


def _drift_row(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    decided = cell["change"] is not None
    verdict = {True: "drifts", False: "no drift shown", None: "too few repeats"}[cell["drifts"]]
    figures = (cell[key] * 100 if decided else None for key in ("change", "low", "high"))
    names = ("change %", "from %", "to %")
    return {"cell": cell["cell"], "repeats": cell["n"], **dict(zip(names, figures)), "": verdict}


def _searches(results: Results) -> List[Section]:
    notes = [
        {
            "title": f"{cell_key(search).label}: {', '.join(search['topologies'])}",
            "lines": [_largest(search), *_tried(search["tried"])],
        }
        for search in results["searches"]
    ]
    return [section("searches", "Largest batch sizes", notes=notes)] if notes else []


def _largest(search: Mapping[str, Any]) -> str:
    if not search["largest"]:
        reason = unquoted(search["reason"])
        return f"{reason[0].upper()}{reason[1:]}."
    limit = f", with at most {search['memory_mib']} MiB a process" if search["memory_mib"] else ""
    return (
        f"The largest batch size per device that runs is {search['largest']}{limit}. It was"
        f" searched on {search['tried_on']} and is used for every topology."
    )


def _tried(tried: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the batch sizes that ran on one line, then each other one with its reason."""
    ran = [str(one["batch_size_per_device"]) for one in tried if one["ending"] == "ok"]
    if ran:
        yield f"ok: {', '.join(ran)}"
    for one in tried:
        if one["ending"] != "ok":
            ending = f"{unquoted(one['ending'])}: {quote(one['reason'])}"
            yield f"{one['batch_size_per_device']}: {ending}"


def _packing(results: Results) -> List[Section]:
    packing, interference = results["packing"], results["interference"]
    if not packing or not interference:
        return []
    count = f"{packing['beside_others']} of {packing['repeats']}"
    lines = [
        f"packing={packing['packing']}: {count} repeats ran at the same time as others, on disjoint"
        f" {packing['packing']}"
    ]
    if packing["on_one_machine"]:
        shared = [folded(names) for names in machines(results).values() if len(names) > 1]
        lines.append(
            f"{packing['on_one_machine']} of them had neighbours on the same machine:"
            f" {unquoted('; '.join(shared))} are one"
        )
    lines += [
        f"{quote(one['log'])}: {unquoted(one['ending'])}: {quote(one['reason'])}"
        for one in interference["failures"]
    ]
    if interference["n"]:
        lines.append(
            f"interference, throughput beside others / throughput alone: median"
            f" {interference['median']:.3f} of {interference['n']} pair(s)"
        )
        lines += [
            f"{unquoted(cell_key(cell).short)}: {', '.join(f'{r:.3f}' for r in cell['ratios'])}"
            for cell in interference["cells"]
        ]
    else:
        lines.append(f"interference: {unquoted(interference['reason'])}")
    return [section("packing", "Packing", notes=[{"title": "", "lines": lines}])]


Builder = Callable[[Results], List[Section]]
# In the order of the report; each returns nothing where the results have nothing for it.
_BEFORE: Tuple[Builder, ...] = (
    _training_time,
    treatment_sections,
    bisect_sections,
    comparison_sections,
    gate_sections,
    acceptance_sections,
    published_text.sections,
    across_text.sections,
    _preflight,
)
_AFTER: Tuple[Builder, ...] = (
    collective_sections,
    strong_sections,
    step_sections,
    _drift,
    waits_sections,
    _searches,
    _packing,
    telemetry_sections,
)
