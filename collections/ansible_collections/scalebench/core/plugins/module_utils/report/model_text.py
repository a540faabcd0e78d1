"""What the benchmarks of a campaign state of their models, in words."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from ..layout.sections import quote, unquoted
from ..records.results import MeasuredCell, Results

__all__ = ["model_lines"]


def model_lines(results: Results) -> List[str]:
    """Return a line for each benchmark that states its model as data."""
    of_benchmark: Dict[str, List[MeasuredCell]] = {}
    for cell in results["cells"]:
        if cell.get("model_data"):
            of_benchmark.setdefault(cell["benchmark"], []).append(cell)
    return [f"{quote(name)}: {_model(cells)}" for name, cells in of_benchmark.items()]


def _model(cells: List[MeasuredCell]) -> str:
    model = cells[0]["model_data"]
    parts = [f"model {unquoted(cells[0]['model'])}", *_counted(cells)]
    if "parameters" in model:
        stated = model["parameters"]
        parts.append(
            f"{stated['figure']:,.0f} parameters, whose gradients are exchanged in each step"
            f" ({_source(stated)})"
        )
    if "gradient_bytes" in model:
        stated = model["gradient_bytes"]
        parts.append(
            f"{stated['figure'] / 1e6:,.1f} MB of gradients exchanged in each step"
            f" ({_source(stated)})"
        )
    if "flops_per_unit" in model:
        stated = model["flops_per_unit"]
        by = f"by the formula {stated['formula']}" if "formula" in stated else ""
        count = by or f"{stated['figure']:.4g}"
        parts.append(f"FLOPs of one of the throughput's unit: {count} ({_source(stated)})")
    return "; ".join(parts)


def _counted(cells: List[MeasuredCell]) -> List[str]:
    """Return what a batch counts, and how many units of the throughput a sample is."""
    samples = cells[0]["model_data"].get("samples")
    parts = [f"a batch counts {unquoted(samples)}"] if samples else []
    sizes = sorted({cell["units_per_sample"] for cell in cells if "units_per_sample" in cell})
    unit = (cells[0]["unit"] or "").partition("/")[0]
    if sizes and unit:
        parts.append(f"one of them is {' or '.join(map(str, sizes))} {unquoted(unit)}")
    return parts


def _source(stated: Mapping[str, Any]) -> str:
    return unquoted(str(stated["source"]))
