"""The sentences that keep a reader of a report from a wrong conclusion."""

from __future__ import annotations

from typing import Any, List, Mapping

from ..layout.rows import listed, machines
from .events import what_happened
from .training_time import sentences

__all__ = ["remarks"]

Cell = Mapping[str, Any]
# Above this share the printed rates and the clock do not tell the same story.
_CLOCK_GAP = 0.05
# Without any drift one run in five has its best start-up, by chance, in its second half.
_DRIFT = 0.02


def remarks(results: Mapping[str, Any]) -> List[str]:
    """Return the sentences that keep a reader from a wrong conclusion."""
    cells: List[Cell] = results["cells"]
    said = sentences(results)
    crowded = [cell for cell in cells if cell["oversubscribed"]]
    if crowded:
        said.append(
            f"{listed(crowded, results)}: oversubscribed. The repeats ran more CPU threads than"
            " the machine has cores, so these speed-ups say nothing about scaling."
        )
    for names in machines(results).values():
        if len(names) > 1:
            said.append(
                f"{', '.join(names)} are one machine: no network lies between them and they share"
                " its cores."
            )
    if any(cell["device"] == "cpu" for cell in cells):
        said.append("gpu_num counts CPU processes here: the nodes have no GPU in use.")
    without = [
        cell
        for cell in cells
        if cell["median_speed"] and cell["speedup"] is None and not cell["invalid"]
    ]
    if without:
        said.append(
            f"{listed(without, results)}: no speed-up, because {without[0]['speedup_reason']}."
        )
    single = [cell for cell in cells if cell["spread"] and cell["spread"]["n"] == 1]
    if single:
        said.append(
            f"{listed(single, results)}: one repeat only, so nothing is known of the spread."
        )
    dead = [cell for cell in cells if cell["state"] in ("failed", "not_run")]
    if dead:
        said.append(f"{listed(dead, results)}: no repeat gave a speed.")
    return said + what_happened(results) + _of_the_repeats(results)


def _drifts(steady: Mapping[str, Any]) -> bool:
    """Whether a run had no steady part and its second half is faster or slower than its first."""
    return steady.get("reached") is False and abs(steady.get("drift") or 0.0) > _DRIFT


def _of_the_repeats(results: Mapping[str, Any]) -> List[str]:
    cells: List[Cell] = results["cells"]
    said = []
    repeats = [r for cell in cells for r in cell["repeats"] if r["throughput"] is not None]
    unsteady = [r["log"] for r in repeats if _drifts(r.get("steady_state") or {})]
    if unsteady:
        said.append(
            f"{len(unsteady)} of {len(repeats)} repeats reached no steady state: their speed went"
            f" on changing by more than {_DRIFT:.0%} (the first is {unsteady[0]})."
        )
    odd = [r for r in repeats if "log_ending" in r]
    if odd:
        said.append(
            f"{len(odd)} of {len(repeats)} logs gave their data but did not end well (the first is"
            f" {odd[0]['log']}: {odd[0]['log_ending']['kind']})."
        )
    apart = [
        cell
        for cell in cells
        if cell["median_speed"]
        and cell["wall_clock_throughput"]
        and abs(cell["wall_clock_throughput"] / cell["median_speed"] - 1) > _CLOCK_GAP
    ]
    if apart:
        said.append(
            f"{listed(apart, results)}: the printed rates and the clock differ by more than"
            f" {_CLOCK_GAP:.0%}; an average of rates is not images over time."
        )
    return said
