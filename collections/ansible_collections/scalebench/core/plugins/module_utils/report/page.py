"""The model of a report: all that report.html and report.md show, in their order."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ..layout.groups import cell_groups, group_title
from ..layout.plain_text import plain
from ..layout.sections import Section, quote, section, unquoted
from ..records.results import MeasuredCell, Results
from .collectives_text import describe_messages
from .columns import MODEL, REPORT, SPREAD, cells_table, repeats_table
from .commands import cell_commands
from .headline import headline
from .notes import failures_section, notes
from .optional_sections import after_sections, before_sections
from .plots import describe, drawn_figures, plot_series
from .provenance import machines_section, method, origin
from .step_text import describe_parts
from .strong_text import about_scaling

__all__ = ["page"]

# Repeats of more groups and commands of more cells are folded, to keep the rest in sight.
_MOST_OPEN = 4
_MOST_LEFT_OUT = 100


def page(
    results: Results,
    plan: Mapping[str, Any] = {},
    records: Sequence[Mapping[str, Any]] = (),
    tails: Mapping[str, Sequence[str]] = {},
    with_plots: bool = True,
) -> Dict[str, Any]:
    """Return the model: ``title``, ``head``, ``about``, ``groups``, ``plots``, sections.

    All text is plain (``plain_text.plain``); the renderers escape it.

    :param results: of ``results.build_results``, or results.json.
    :param plan: plan.json; empty for a tree of logs.
    :param records: the run records; none for a tree of logs.
    :param tails: by log, the last lines of those that ``notes.logs_to_quote`` names.
    :param with_plots: whether the plots are drawn; ``plots`` are their text alternatives by figure.
    """
    groups = [_group(cells, number) for number, cells in enumerate(cell_groups(results), 1)]
    commands = cell_commands(results, plan, records)
    series = plot_series(results) if with_plots else []
    return {
        "title": plain(results["campaign"], 120),
        "unit": plain(results["units"]["throughput"], 40),
        "head": headline(results),
        "before": before_sections(results),
        "about": about_scaling(results),
        "groups": groups,
        "repeats_open": len(groups) <= _MOST_OPEN,
        "plots": {
            **{one: describe(series, one) for one in drawn_figures(series)},
            **describe_messages(results),
            **describe_parts(results),
        }
        if with_plots
        else {},
        "failures": failures_section(results, tails),
        "after": after_sections(results),
        "machines": machines_section(results),
        "commands": commands,
        "commands_open": len(commands) <= _MOST_OPEN,
        "method": _method(results),
    }


def _group(cells: Sequence[MeasuredCell], number: int) -> Dict[str, Any]:
    """Return one group: ``summary``, a section with the cells and, where it is known, what their
    model and steps cost; ``repeats``, one with their spread.

    The first is always shown; the second may be folded.
    """
    ident, title = f"group-{number}", group_title(cells)
    spread = [cell for cell in cells if cell["spread"]]
    tables = [cells_table("Spread of the repeats", spread, SPREAD)] if spread else []
    tables.append(repeats_table(cells))
    summary = [cells_table("Cells", cells, REPORT)]
    with_figures = [cell for cell in cells if cell.get("figures")]
    if with_figures:
        summary.append(cells_table("Model and steps", with_figures, MODEL))
    return {
        "summary": section(ident, title, tables=summary, notes=notes(cells)),
        "repeats": section(f"{ident}-repeats", f"Repeats of {title}", tables=tables),
    }


def _method(results: Results) -> List[Section]:
    lines = _model_lines(results)
    models = [{"title": "Models, as the benchmarks state them", "lines": lines}] if lines else []
    sections = [
        section("method", "Method", notes=[{"title": "", "lines": method(results)}, *models]),
        section("origin", "Origin", notes=[{"title": "", "lines": origin(results)}]),
    ]
    unmatched = results["unmatched"]
    left_out = [
        f"{quote(one['path'])}: {quote(one['reason'])}" for one in unmatched[:_MOST_LEFT_OUT]
    ]
    if len(unmatched) > _MOST_LEFT_OUT:
        left_out.append(f"{len(unmatched) - _MOST_LEFT_OUT} more are in results.json")
    if left_out:
        notes_left_out = [{"title": "", "lines": left_out}]
        sections.append(section("unmatched", "Files left out", notes=notes_left_out))
    return sections


def _model_lines(results: Results) -> List[str]:
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
