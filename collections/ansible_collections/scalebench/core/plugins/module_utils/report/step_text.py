"""The section on the time of a step: what it is made of, and what it would be on other nodes."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

from ..layout.sections import Section, filled, section, table
from ..records.results import Prediction, PredictionGroup, Results, StepCell, StepGroup, StepParts
from .plots import FIGURES

__all__ = [
    "DRAWN_PARTS",
    "describe_parts",
    "drawn_steps",
    "step_lines",
    "step_sections",
]

# What adds up to a step, in the order of the plot: the name of a part by the key of a cell.
DRAWN_PARTS = {
    "compute_seconds": "computation",
    "small_batch_seconds": "smaller batch",
    "input_seconds": "input",
    "exchange_seconds": "exposed exchange",
    "imbalance_seconds": "imbalance",
    "core_wait_seconds": "no core",
    "unexplained_seconds": "unexplained",
}
_MOST_DRAWN = 40
_MOST_DESCRIBED = 6
_MOST_LINES = 6

# Columns of the table by the key of a cell, in milliseconds.
_PARTS = {
    "step, ms": "step_seconds",
    **{f"{name}, ms": key for key, name in DRAWN_PARTS.items()},
    "all-reduce alone, ms": "all_reduce_seconds",
    "hidden, ms": "hidden_seconds",
}


_ABOUT_PARTS = (
    "A step is the sum of its parts. The computation is the step of one device without its input:"
    " in weak scaling with the same batch, in strong scaling its N-th part, and smaller batch is by"
    " how much longer one device alone takes for a device's batch. Input is what the middle rank"
    " waits for its batch. The exposed exchange is what the last rank waits"
    " after its backward pass, the imbalance by how much longer the middle rank waits, and no core"
    " how long the middle rank is ready to run while others have the cores, on a"
    " CPU. The unexplained part is computation that is slower than on one device (shared caches or"
    " memory, more than one thread, a lower clock,"
    " communication beside it), what has no column of its own here, and noise; it may be below 0."
    " The all-reduce alone is"
    " that of benchmark all_reduce in this campaign for the model's gradients, and hidden is"
    " how much longer it takes than what is exposed."
)
_ABOUT_PREDICTIONS = (
    "A predicted step is measured ones without the all-reduce of the model's gradients, and the"
    " all-reduce of its own topology, by the law of a ring that is fitted to the all-reduces of the"
    " topologies named. In weak scaling all else is as in the step named; in strong scaling it"
    " is s + p / N on N devices, through the two steps named, or that of one device with the same"
    " batch per device. What is hidden stays hidden. The interval is"
    " that of the measured times alone; how far the law itself is off is the error beside measured"
    " topologies."
)
# What a prediction knows of its topology.
_KINDS = {
    "parts": "from one device and its own all-reduces",
    "left_out": "from smaller topologies",
    "asked": "from smaller topologies, as asked",
}


def step_sections(results: Results) -> List[Section]:
    """Return the section; nothing where no part of a step was measured, and none predicted."""
    parts, predicted = results.get("step_parts"), results.get("predictions")
    about, tables, lines = [], [], []
    if parts:
        about.append(_ABOUT_PARTS)
        groups = parts["groups"]
        for one in groups:
            rows = [_row(cell) for cell in one["cells"]]
            tables.append(table(_title(one), rows, filled(rows)))
        lines += [
            f"{_title(one)} {_sentence(cell, one)}" for one in groups for cell in one["cells"]
        ]
    if predicted:
        about.append(_ABOUT_PREDICTIONS)
        decimals = {"speed-up measured": 3, "speed-up predicted": 3}
        tables += [
            table(
                f"{_title(one)}: predictions",
                [_prediction_row(row, one) for row in one["rows"]],
                decimals=decimals,
            )
            for one in predicted["groups"]
        ]
        lines += [line for one in predicted["groups"] for line in _asked(one)]
        lines += [line for one in predicted["groups"] for line in _unknown(one)]
    return [section("step-time", "Time of a step", about, tables, lines)] if about else []


def drawn_steps(parts: StepParts) -> List[Tuple[str, StepCell]]:
    """Return the steps whose exchange was measured, with group and topology; 40 at most."""
    steps = [
        (f"{_title(one)} {cell['topology']}", cell)
        for one in parts["groups"]
        for cell in one["cells"]
        if cell["unexplained_seconds"] is not None
    ]
    return steps[:_MOST_DRAWN]


def describe_parts(results: Results) -> Dict[str, str]:
    """Return the text alternative of the plot by its name; nothing where no step is drawn."""
    parts = results.get("step_parts")
    steps = drawn_steps(parts) if parts else []
    if not steps:
        return {}
    said = []
    for label, cell in steps[:_MOST_DESCRIBED]:
        values: Dict[str, Any] = {**cell}
        named = ", ".join(
            f"{name} {_ms(values[key])}" for key, name in DRAWN_PARTS.items() if values[key]
        )
        said.append(f"{label}, {_ms(cell['step_seconds'])}: {named}")
    more = len(steps) - _MOST_DESCRIBED
    said += [f"{more} more in the tables"] if more > 0 else []
    return {"step_parts": f"{FIGURES['step_parts']} by topology. {'; '.join(said)}."}


def step_lines(results: Results) -> List[str]:
    """Return the sentences for the terminal: of each largest topology, and what was asked for."""
    parts, predicted = results.get("step_parts"), results.get("predictions")
    lines = [
        f"{_title(one)} {_sentence(one['cells'][-1], one)}"
        for one in (parts["groups"] if parts else [])
        if one["cells"]
    ]
    more = len(lines) - _MOST_LINES
    if more > 0:
        lines = [*lines[:_MOST_LINES], f"The report says it of {more} more."]
    return [
        *lines,
        *(line for one in (predicted["groups"] if predicted else []) for line in _asked(one)),
    ]


def _title(one: Union[StepGroup, PredictionGroup]) -> str:
    return f"{one['benchmark']} {one['precision']} {one['variant']}"


def _row(cell: StepCell) -> Dict[str, Any]:
    values: Dict[str, Any] = {**cell}
    of_parts = {
        name: None if values[key] is None else values[key] * 1000 for name, key in _PARTS.items()
    }
    return {"topology": cell["topology"], **of_parts}


def _sentence(cell: StepCell, group: StepGroup) -> str:
    devices, step = cell["devices"], cell["step_seconds"]
    clauses = [*_cores(cell), *_exchange(cell, group), *_waits(cell, group)]
    return (
        f"{cell['topology']}: {cell['speedup']:.2f} of {devices} (efficiency"
        f" {cell['speedup'] / devices:.0%}) by the time of the steps, {_ms(step)} (100%):"
        f" {'; '.join(clauses)}."
    )


def _cores(cell: StepCell) -> List[str]:
    """Return whether ranks have to share cores, and what share of a step that costs."""
    waited = cell["core_wait_seconds"]
    cost = None
    if waited is not None:
        cost = f"no free core for {_share(waited, cell)} longer than one device alone"
    if not cell["oversubscribed"]:
        return [cost] if cost else []
    devices, cores = cell["devices"], cell["cores"]
    shared = f"{devices} ranks share {cores or 'too few'} cores"
    if cores and devices <= cores:
        shared = f"{devices} ranks have more threads than their {cores} cores"
    return [f"{shared}, {f'with {cost}' if cost else 'what that costs was not measured'}"]


def _exchange(cell: StepCell, group: StepGroup) -> List[str]:
    """Return how long the exchange of gradients takes, and what the ranks see of it."""
    size, alone, hidden = (
        group["gradient_bytes"],
        cell["all_reduce_seconds"],
        cell["hidden_seconds"],
    )
    exposed = cell["exchange_seconds"]
    what = "the exchange of gradients" if size is None else f"the exchange of {size / 1e6:.1f} MB"
    if size is None or alone is None:
        unknown = (
            f" (how much is hidden, benchmark all_reduce on {cell['topology']} in the same"
            " campaign, with sizes near this one, would say)"
        )
        seen = f"{_share(exposed, cell)} of {what} are exposed{unknown if size else ''}"
        return [] if exposed is None else [seen]
    error = f" +- {_ms(cell['all_reduce_error'])}" if cell["all_reduce_error"] else ""
    said = f"{what} at {size / alone / 1e9:.3g} GB/s takes {_ms(alone)}{error}"
    if hidden is None:
        return [f"{said} alone"]
    if hidden < 0:
        return [f"{said} alone and {_share(exposed, cell)} in the step, nothing of it hidden"]
    return [f"{said}, of which {_ms(hidden)} are hidden and {_share(exposed, cell)} exposed"]


def _waits(cell: StepCell, group: StepGroup) -> List[str]:
    """Return the other parts of a step, and why one is not known."""
    said = []
    if cell["small_batch_seconds"] is not None:
        said.append(
            f"batches of {cell['batch_size_per_device']} instead of"
            f" {cell['batch_size_per_device'] * cell['devices']} cost"
            f" {_share(cell['small_batch_seconds'], cell)}"
        )
    if cell["exchange_seconds"] is None:
        return [
            *said,
            "its trainer did not measure the waits of the ranks, so that nothing else is known",
        ]
    said.append(f"the middle rank waits {_share(cell['imbalance_seconds'], cell)} for the last one")
    given = cell["input_seconds"]
    said.append("input was not measured" if given is None else f"input takes {_share(given, cell)}")
    unexplained = f"{(cell['unexplained_seconds'] or 0.0) / cell['step_seconds']:.0%} unexplained"
    if group["scaling"] == "strong" and cell["small_batch_seconds"] is None:
        unexplained += f", with what batches of {cell['batch_size_per_device']} cost in it"
    return [*said, unexplained]


def _share(seconds: Optional[float], cell: StepCell) -> str:
    """Return a part of a step in ms and percent."""
    return f"{_ms(seconds)} ({(seconds or 0.0) / cell['step_seconds']:.0%})"


def _ms(seconds: Optional[float]) -> str:
    # Adding 0 makes a negative 0 positive.
    return f"{round(1000 * (seconds or 0.0), 1) + 0:.1f} ms"


def _prediction_row(row: Prediction, group: PredictionGroup) -> Dict[str, Any]:
    ends = [end for end in (row["step_low"], row["step_high"]) if end is not None]
    return {
        "topology": row["topology"],
        "prediction": _KINDS[row["kind"]],
        "steps of": ", ".join(row["steps"]),
        "all-reduces of": ", ".join(row["network"]),
        "step, ms": None if row["step_seconds"] is None else row["step_seconds"] * 1000,
        "interval, ms": " to ".join(f"{end * 1000:.1f}" for end in ends),
        f"throughput, {group['unit'] or 'samples/s'}": _throughput(row, row["step_seconds"]),
        "speed-up predicted": row["speedup"],
        "speed-up measured": row["measured_speedup"],
        "error, %": None if row["error"] is None else row["error"] * 100,
    }


def _throughput(row: Prediction, step: Optional[float]) -> Optional[float]:
    return row["samples"] / step if step else None


def _asked(group: PredictionGroup) -> List[str]:
    """Return a sentence on each topology that was asked for."""
    unit = group["unit"] or "samples/s"
    lines = []
    for row in group["rows"]:
        if row["kind"] != "asked":
            continue
        start = f"{_title(group)} {row['topology']} (prediction"
        if row["step_seconds"] is None:
            lines.append(f"{start}): none, {row['reason']}.")
            continue
        known = row["measured_speedup"]
        marked = ", not measured" if known is None else " from smaller topologies"
        beside = "" if known is None else f" where {known:.2f} was measured"
        low, high = (_throughput(row, row[key]) or 0.0 for key in ("step_high", "step_low"))
        between = f"({low:,.1f} to {high:,.1f})" if high else f"({low:,.1f} or more)"
        between = between if low else "(no interval: too few repeats)"
        figure = _throughput(row, row["step_seconds"]) or 0.0
        shared = "; ranks of these share cores" if row["oversubscribed"] else ""
        steps = "step" if len(row["steps"]) == 1 else "steps"
        lines.append(
            f"{start}{marked}): {figure:,.1f} {unit} {between}, a speed-up of"
            f" {row['speedup']:.2f} of {row['devices']}{beside}, from the {steps} on"
            f" {', '.join(row['steps'])} and the all-reduces on {', '.join(row['network'])}"
            f"{shared}."
        )
    return lines


def _unknown(group: PredictionGroup) -> List[str]:
    """Return why a measured topology has no prediction."""
    return [
        f"{_title(group)} {row['topology']} is not predicted: {row['reason']}."
        for row in group["rows"]
        if row["kind"] != "asked" and row["reason"]
    ]
