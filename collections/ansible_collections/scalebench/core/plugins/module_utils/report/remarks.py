"""Remarks: one sentence for each thing that a reader of the results must know to judge them."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Any, Dict, List, Mapping

from ..layout.groups import listed, machines
from ..layout.table import shown
from ..records.cells import cell_key
from ..records.endings import never_ran
from ..records.node_names import folded, named
from ..records.results import MeasuredCell, Repeat, Results
from ..results.cells import deciding_figures, ran_oversubscribed, repeats_without_speed
from .optional_sections import training_times

__all__ = ["remarks", "what_happened"]

# Above this relative difference the time of the steps and the wall clock contradict each other.
_CLOCK_GAP = 0.02
# So much slower by the time of the steps than by the rule is told. Even noise of the steps with a
# cv of 10 % makes a mean of rates 1 % too high; on GPUs steps scatter by less.
_RULE_GAP = 0.01
# Without any drift one run of 120 steps in ten looks steadiest, by chance, in its second half.
_DRIFT = 0.02
# Columns of a terminal; a sentence that lists more refers to the report.
_WIDTH = 100


def remarks(results: Results) -> List[str]:
    """Return the sentences that keep a reader from a wrong conclusion."""
    return [
        *training_times(results),
        *_of_the_machines(results),
        *_of_the_cells(results),
        *what_happened(results),
        *_of_the_repeats(results),
        *_of_the_clock(results),
    ]


def _of_the_machines(results: Results) -> List[str]:
    cells: List[MeasuredCell] = results["cells"]
    sentences = []
    oversubscribed = [cell for cell in cells if ran_oversubscribed(cell)]
    if oversubscribed:
        sentences.append(
            f"{listed(oversubscribed, results)}: oversubscribed. The repeats ran more CPU threads"
            " than the machine has cores, so these speed-ups say nothing about scaling."
        )
    sentences += [
        f"{folded(names)} are one machine: there is no network between them and they share its"
        " cores."
        for names in machines(results).values()
        if len(names) > 1
    ]
    if any(cell["device"] == "cpu" for cell in cells):
        sentences.append("gpu_num counts CPU processes here: the nodes have no GPU in use.")
    return sentences


def _of_the_cells(results: Results) -> List[str]:
    cells: List[MeasuredCell] = results["cells"]
    sentences = []
    without: Dict[str, List[MeasuredCell]] = {}
    for cell in cells:
        if cell["median_speed"] and cell["speedup"] is None and not cell["invalid"]:
            without.setdefault(cell["speedup_reason"], []).append(cell)
    for reason, group in without.items():
        sentences.append(f"{listed(group, results)}: no speed-up, because {reason}.")
    single = [cell for cell in cells if cell["spread"] and cell["spread"]["n"] == 1]
    if single:
        sentences.append(f"{listed(single, results)}: one repeat only, so the spread is unknown.")
    # What bisecting did not need has no planned repeats.
    planned = [cell for cell in cells if cell["repeats_planned"]]
    empty = [cell for cell in planned if cell["median_speed"] is None and not _left_out(cell)]
    if empty:
        sentences.append(f"{listed(empty, results)}: no repeat succeeded.")
    return sentences + _of_the_models(cells, results)


def _of_the_models(cells: List[MeasuredCell], results: Results) -> List[str]:
    """Tell of the cells whose FLOPs a formula counts, and whose logs state no model for it."""
    by_formula: Dict[str, List[MeasuredCell]] = {}
    for cell in cells:
        formula = (cell.get("model_data") or {}).get("flops_per_unit", {}).get("formula")
        counted = (cell.get("figures") or {}).get("flops_per_second")
        if formula and cell["median_speed"] and not counted:
            by_formula.setdefault(formula, []).append(cell)
    return [
        f"{listed(some, results)}: no FLOP/s and no MFU. The benchmark counts FLOPs by the formula"
        f" {formula}, and the logs do not state the dimensions of the model that it needs."
        for formula, some in by_formula.items()
    ]


def _of_the_repeats(results: Results) -> List[str]:
    repeats = [r for cell in results["cells"] for r in cell["repeats"] if r["throughput"]]
    sentences = []
    unsteady = [r["log"] for r in repeats if _drifts(r.get("steady_state") or {})]
    if unsteady:
        sentences.append(
            f"{len(unsteady)} of {len(repeats)} repeats reached no steady state: their throughput"
            f" kept changing by more than {_DRIFT:.0%} (the first is {unsteady[0]})."
        )
    gaps = [_rule_gap(r) for r in repeats]
    uneven = sum(gap > _RULE_GAP for gap in gaps)
    if uneven:
        worst = repeats[gaps.index(max(gaps))]
        sentences.append(
            f"{uneven} of {len(repeats)} repeats had uneven steps: the throughput over their time"
            f" is more than {_RULE_GAP:.0%} below that of the rule (at most by {max(gaps):.1%}:"
            f" {shown(worst['elapsed_throughput'], 2)} and {shown(worst['throughput'], 2)} in"
            f" {worst['log']})."
            " Gates and comparisons go by the time."
        )
    ended = [r for r in repeats if "log_ending" in r]
    if ended:
        sentences.append(
            f"{len(ended)} of {len(repeats)} logs have their data but did not end normally (the"
            f" first is {ended[0]['log']}: {ended[0]['log_ending']['kind']})."
        )
    return sentences


def _rule_gap(repeat: Repeat) -> float:
    """Return the share by which the throughput by time is below the rule's figure."""
    speed, by_time = repeat["throughput"], repeat.get("elapsed_throughput")
    return 1 - by_time / speed if speed and by_time else 0.0


def _drifts(steady: Mapping[str, Any]) -> bool:
    """Whether a run had no steady part and its second half is faster or slower than its first."""
    return steady.get("reached") is False and abs(steady.get("drift") or 0.0) > _DRIFT


def _of_the_clock(results: Results) -> List[str]:
    apart = []
    for cell in results["cells"]:
        clock, steps = cell["wall_clock_throughput"], deciding_figures(cell).get("median_speed")
        if clock and steps and abs(clock / steps - 1) > _CLOCK_GAP:
            apart.append(cell)
    if not apart:
        return []
    return [
        f"{listed(apart, results)}: the printed rates and the wall clock differ by more than"
        f" {_CLOCK_GAP:.0%}; no figure contains the time between the steps."
    ]


def what_happened(results: Results) -> List[str]:
    """Return at most one line for each kind of event of a campaign, the gravest first."""
    return [
        *_searches(results),
        *_invalid(results),
        *_never_ran(results),
        *_disturbed(results),
        *_retried(results),
        *_warnings(results),
        *_packed(results),
    ]


def _searches(results: Results) -> List[str]:
    return [
        f"{cell_key(search).label}: "
        + (
            f"the largest batch size per device that runs: {search['largest']}"
            if search["largest"]
            else str(search["reason"])
        )
        for search in results["searches"]
    ]


def _invalid(results: Results) -> List[str]:
    return [
        f"{listed([cell], results)}: {cell['speedup_reason']}"
        for cell in results["cells"]
        if cell["invalid"]
    ]


def _never_ran(results: Results) -> List[str]:
    """Name the cells whose repeats did not run, those with the same reason together."""
    reasons: Dict[str, List[MeasuredCell]] = {}
    for cell in results["cells"]:
        for repeat in [r for r in repeats_without_speed(cell) if never_ran(r["ending"])][:1]:
            reasons.setdefault(f"{repeat['ending']}: {repeat['reason']}", []).append(cell)
    return [f"{listed(cells, results)}: {reason}" for reason, cells in reasons.items()]


def _left_out(cell: MeasuredCell) -> bool:
    """Return whether nothing was started for any of the recorded repeats."""
    without = repeats_without_speed(cell)
    return bool(without) and all(never_ran(repeat["ending"]) for repeat in without)


def _disturbed(results: Results) -> List[str]:
    repeats = [r for cell in results["cells"] for r in cell["repeats"] if r["ending"] == "ok"]
    disturbed = [repeat for repeat in repeats if repeat["disturbances"]]
    if not disturbed:
        return []
    nodes: Dict[str, Dict[str, None]] = {}
    for repeat in disturbed:
        for one in repeat["disturbances"]:
            nodes.setdefault(one["kind"].replace("_", " "), {})[one["node"]] = None
    kinds = "; ".join(f"{kind} on {named(names)}" for kind, names in nodes.items())
    return [_line(f"{len(disturbed)} of {len(repeats)} repeats were disturbed: {kinds}")]


def _retried(results: Results) -> List[str]:
    retried = [
        repeat
        for cell in results["cells"]
        for repeat in (*cell["repeats"], *cell["unfinished"])
        if repeat["earlier"]
    ]
    if not retried:
        return []
    count = f"{len(retried)} repeat{'s' if len(retried) > 1 else ''}"
    endings = Counter(
        "disturbed" if attempt["ending"] == "ok" else attempt["ending"]
        for repeat in retried
        for attempt in repeat["earlier"]
    )
    earlier = ", ".join(f"{number} {name}" for name, number in endings.items())
    return [_line(f"{count} needed more than one attempt; earlier ones: {earlier}")]


def _warnings(results: Results) -> List[str]:
    """Return the first warning of each rule; the report has all."""
    by_rule: Dict[str, List[str]] = {}
    for cell in results["cells"]:
        for warning in cell["warnings"]:
            line = f"{listed([cell], results)}: unexpected: {warning['detail']}"
            by_rule.setdefault(warning["rule"], []).append(line)
    return [
        lines[0] + (f" (and {len(lines) - 1} more in the report)" if len(lines) > 1 else "")
        for lines in by_rule.values()
    ]


def _packed(results: Results) -> List[str]:
    packing, interference = results["packing"], results["interference"]
    if not packing or not interference or not packing["beside_others"]:
        return []
    cost = interference["reason"]
    if interference["n"]:
        cost = (
            f"interference {interference['median']:.2f} of the throughput alone (median of"
            f" {interference['n']})"
        )
    count = f"{packing['beside_others']} of {packing['repeats']}"
    return [f"packed: {count} repeats ran at the same time as others; {cost}"]


def _line(text: str) -> str:
    return textwrap.shorten(text, _WIDTH, placeholder=" …")
