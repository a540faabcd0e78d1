"""Rows, titles and remarks of a report, from results.json; the texts print them."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

__all__ = ["cell_groups", "failures", "group_title", "labels", "machines", "percent", "remarks"]

Cell = Mapping[str, Any]
_NAMES = ("benchmark", "precision", "variant", "model")
# Above this share the printed rates and the clock do not tell the same story.
_CLOCK_GAP = 0.05
_MOST_NAMED = 4
# Without any drift one run in five has its best start-up, by chance, in its second half.
_DRIFT = 0.02


def cell_groups(results: Mapping[str, Any]) -> List[List[Cell]]:
    """Return the cells by benchmark, precision, variant and model, topologies in order."""
    groups: Dict[Tuple[str, ...], List[Cell]] = {}
    for cell in results["cells"]:
        groups.setdefault(tuple(str(cell[name]) for name in _NAMES), []).append(cell)
    return [
        sorted(cells, key=lambda cell: (cell["nodes"], cell["devices_per_node"]))
        for cells in groups.values()
    ]


def group_title(cells: Sequence[Cell]) -> str:
    """Return what one group measured: ``pytorch fp32 bz4: r50, batch size 4 per device``."""
    cell = cells[0]
    return (
        f"{cell['benchmark']} {cell['precision']} {cell['variant']}: {cell['model']},"
        f" batch size {cell['batch_size_per_device']} per device"
    )


def percent(share: Optional[float]) -> Optional[float]:
    """Return a share as a number of percent, None for None."""
    return None if share is None else share * 100


def failures(results: Mapping[str, Any]) -> List[str]:
    """Return a line for every repeat that gave no speed: log, ending, reason."""
    return [
        f"{failure['log']}: {failure['ending']}: {failure['reason'] or 'no reason given'}"
        for cell in results["cells"]
        for failure in cell["failures"]
    ]


def machines(results: Mapping[str, Any]) -> Dict[str, List[str]]:
    """Return the names of the nodes by the machine that they are on."""
    found: Dict[str, List[str]] = {}
    for name, node in (results["provenance"].get("nodes") or {}).items():
        found.setdefault(node.get("machine_id") or name, []).append(name)
    return found


def labels(groups: Sequence[Sequence[Cell]]) -> List[str]:
    """Name each group by what tells it from the others; one alone by benchmark and precision."""
    said = [{name: str(cells[0][name]) for name in _NAMES} for cells in groups]
    for one in said:
        short = one["benchmark"].rpartition("/")[2]
        same = [other for other in said if other["benchmark"].rpartition("/")[2] == short]
        one["short"] = short if len({other["benchmark"] for other in same}) == 1 else ""
    names = ["benchmark", "precision"]
    if len(said) > 1:
        names = [name for name in _NAMES if len({one[name] for one in said}) > 1]
        for name in reversed(list(names)):
            rest = [other for other in names if other != name]
            if len({tuple(one[other] for other in rest) for one in said}) == len(said):
                names = rest
    return [
        " ".join((one["short"] if name == "benchmark" else "") or one[name] for name in names)
        for one in said
    ]


def _listed(cells: Sequence[Cell], results: Mapping[str, Any]) -> str:
    """Name cells; by their topology alone where the report has one group."""
    if len(cells) == len(results["cells"]):
        return "all cells"
    groups = cell_groups(results)
    chosen = {id(cell) for cell in cells}
    named = []
    for label, members in zip(labels(groups), groups):
        places = ", ".join(cell["topology"] for cell in members if id(cell) in chosen)
        if places:
            named.append(f"{label} {places}" if len(groups) > 1 else places)
    rest = f"; and {len(named) - _MOST_NAMED} groups more" if len(named) > _MOST_NAMED else ""
    return "; ".join(named[:_MOST_NAMED]) + rest


def remarks(results: Mapping[str, Any]) -> List[str]:
    """Return the sentences that keep a reader from a wrong conclusion."""
    cells: List[Cell] = results["cells"]
    said = []
    crowded = [cell for cell in cells if cell["oversubscribed"]]
    if crowded:
        said.append(
            f"{_listed(crowded, results)}: oversubscribed. The repeats ran more CPU threads than"
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
    without = [cell for cell in cells if cell["median_speed"] and cell["speedup"] is None]
    if without:
        said.append(
            f"{_listed(without, results)}: no speed-up, because {without[0]['speedup_reason']}."
        )
    single = [cell for cell in cells if cell["spread"] and cell["spread"]["n"] == 1]
    if single:
        said.append(
            f"{_listed(single, results)}: one repeat only, so nothing is known of the spread."
        )
    dead = [cell for cell in cells if not cell["median_speed"]]
    if dead:
        said.append(f"{_listed(dead, results)}: no repeat gave a speed.")
    return said + _of_the_repeats(results)


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
            f"{_listed(apart, results)}: the printed rates and the clock differ by more than"
            f" {_CLOCK_GAP:.0%}; an average of rates is not images over time."
        )
    return said
