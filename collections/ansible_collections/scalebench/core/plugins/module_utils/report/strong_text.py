"""The section on strong scaling: the time of a step against its ideal, and the serial share."""

from __future__ import annotations

from typing import Any, Dict, List

from ..layout.sections import Section, section, table
from ..records.results import Results, SerialShare, StrongCell, StrongGroup

__all__ = ["about_scaling", "strong_sections"]


def about_scaling(results: Results) -> List[str]:
    """Return what speed-up and efficiency are relative to, for each mode that was run."""
    modes = {cell.get("scaling") or "weak" for cell in results["cells"]} or {"weak"}
    weak = (
        "Speed-up is relative to one device (1n1g); efficiency is speed-up divided by devices."
        " Weak scaling: every device has the same batch at every topology, and the ideal is the"
        " throughput of 1n1g times the devices."
    )
    strong = (
        "Strong scaling: all devices together have the same batch at every topology, and the ideal"
        " is the time of a step over the devices. Its speed-up is relative to the smallest topology"
        " that this batch divides over."
    )
    return [text for mode, text in (("weak", weak), ("strong", strong)) if mode in modes]


def strong_sections(results: Results) -> List[Section]:
    """Return the section; nothing of results without strong scaling."""
    found = results.get("strong_scaling")
    if not found:
        return []
    about = (
        "The same batch of all devices at every topology. The serial share is what does not become"
        " faster with more devices, of the time of a step on the smallest topology: of one cell by"
        " Karp and Flatt, and of a group by Amdahl's law, fitted to all repeats (least squares,"
        f" Fieller's interval of {found['level']:.0%}). A share of Karp and Flatt that grows with"
        " the devices shows a cost that grows with them, such as communication; Amdahl's law does"
        " not hold then."
    )
    groups = found["groups"]
    tables = [table(_title(one), [_row(cell) for cell in one["cells"]]) for one in groups]
    lines = [f"{_title(one)}: {_share(one['serial_share'])}" for one in groups]
    notes = [{"title": "Serial share by Amdahl's law", "lines": lines}]
    return [section("strong-scaling", "Strong scaling", [about], tables, notes=notes)]


def _title(one: StrongGroup) -> str:
    return (
        f"{one['benchmark']} {one['precision']} {one['variant']}: {one['model']}, global batch size"
        f" {one['global_batch_size']}"
    )


def _row(cell: StrongCell) -> Dict[str, Any]:
    ideal, share = cell["ideal_step_seconds"], cell["karp_flatt"]
    return {
        "topology": cell["topology"],
        "gpu_num": cell["devices"],
        "batch per device": cell["batch_size_per_device"],
        "time of a step ms": 1000 * cell["step_seconds"],
        "ideal ms": None if ideal is None else 1000 * ideal,
        "serial share % (Karp-Flatt)": None if share is None else 100 * share,
    }


def _share(found: SerialShare) -> str:
    if found["share"] is None:
        return f"not known, {found['reason']}"
    text = f"{100 * found['share']:.2f} %"
    if found["low"] is None or found["high"] is None:
        return f"{text}, without an interval: {found['reason']}"
    text += f" ({100 * found['low']:.2f} to {100 * found['high']:.2f} %), {found['n']} repeats"
    return f"{text}; {found['reason']}" if found["reason"] else text
