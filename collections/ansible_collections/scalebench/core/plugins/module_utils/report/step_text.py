"""The section on the time of a step: how much of it is one device's, and where the rest goes."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ..layout.sections import Section, section, table
from ..records.results import Results, StepCell, StepGroup

__all__ = ["step_sections"]

# Columns of the table by the key of a cell, in milliseconds.
_PARTS = {
    "step, ms": "step_seconds",
    "one device, ms": "one_device_seconds",
    "exposed exchange, ms": "exchange_seconds",
    "imbalance, ms": "imbalance_seconds",
    "unexplained, ms": "unexplained_seconds",
    "all-reduce alone, ms": "all_reduce_seconds",
    "hidden, ms": "hidden_seconds",
}


def step_sections(results: Results) -> List[Section]:
    """Return the section; nothing where no part of a step was measured."""
    found = results.get("step_parts")
    if not found:
        return []
    about = (
        "A step of weak scaling is that of one device with the same batch, plus the exchange of"
        " gradients as far as it is exposed, plus the imbalance of the ranks, plus what none of"
        " them explains. The exposed exchange is what the last rank waits after its backward pass,"
        " and the imbalance by how much longer the middle rank waits. The unexplained part is"
        " computation that is slower than on one device (shared cores or memory, a lower clock,"
        " communication beside it), input, and noise; it may be below 0. The all-reduce alone is"
        " that of benchmark all_reduce in this campaign for the model's gradients, and hidden is"
        " how much longer it takes than what is exposed."
    )
    groups = found["groups"]
    tables = [table(_title(one), [_row(cell) for cell in one["cells"]]) for one in groups]
    lines = [f"{_title(one)} {_sentence(cell, one)}" for one in groups for cell in one["cells"]]
    return [section("step-time", "Time of a step", [about], tables, lines)]


def _title(one: StepGroup) -> str:
    return f"{one['benchmark']} {one['precision']} {one['variant']}"


def _row(cell: StepCell) -> Dict[str, Any]:
    values: Dict[str, Any] = {**cell}
    of_parts = {
        name: None if values[key] is None else values[key] * 1000 for name, key in _PARTS.items()
    }
    return {"topology": cell["topology"], **of_parts}


def _sentence(cell: StepCell, group: StepGroup) -> str:
    one_device, step = cell["one_device_seconds"] or 0.0, cell["step_seconds"]
    speedup = cell["devices"] * one_device / step
    said = (
        f"{cell['topology']}: by the time of the steps the speed-up is {speedup:.2f} of"
        f" {cell['devices']}; a step takes {_ms(step)}, {_ms(step - one_device)} more than on one"
        " device."
    )
    return f"{said} {_parts(cell)}{_all_reduce(cell, group)}"


def _parts(cell: StepCell) -> str:
    if cell["exchange_seconds"] is None:
        return "Its trainer did not measure the waits of the ranks, so that no part is known"
    shared = " (the ranks share cores)" if cell["oversubscribed"] else ""
    return (
        f"Of these the exchange is {_ms(cell['exchange_seconds'])}, the imbalance of the ranks"
        f" {_ms(cell['imbalance_seconds'])}, and {_ms(cell['unexplained_seconds'])} are"
        f" unexplained{shared}"
    )


def _all_reduce(cell: StepCell, group: StepGroup) -> str:
    size = group["gradient_bytes"]
    if size is None:
        return "."
    if cell["all_reduce_seconds"] is None:
        return (
            f"; how long {size / 1e6:.1f} MB take alone, benchmark all_reduce on {cell['topology']}"
            " in the same campaign would say."
        )
    error = f" +- {_ms(cell['all_reduce_error'])}" if cell["all_reduce_error"] else ""
    taken = f"{_ms(cell['all_reduce_seconds'])}{error}"
    return f"; an all-reduce of {size / 1e6:.1f} MB takes {taken} alone."


def _ms(seconds: Optional[float]) -> str:
    return f"{1000 * (seconds or 0.0):.1f} ms"
