"""The files of a report from its results: data, page, Markdown and plots, as bytes by name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import (
    redacted_end,
    shown,
)
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import last_lines
from ansible_collections.scalebench.core.plugins.module_utils.report.exports import (
    csv_text,
    prometheus_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.junit import junit_text
from ansible_collections.scalebench.core.plugins.module_utils.report.notes import logs_to_quote
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import (
    FIGURES,
    PAGE_COLOURS,
    inline_svg,
    plot_series,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.text import report_markdown
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    open_regular,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import Measured
from ansible_collections.scalebench.core.plugins.plugin_utils.page_html import page_html

__all__ = ["json_text", "log_tails", "report_files"]

# Enough for twenty lines; of a log of gigabytes no more is read.
_LAST_BYTES = 1 << 16
_NODE = re.compile(r"([\w.-]+): ")


def json_text(value: Any, indent: int | None = 1) -> str:
    """Return JSON with a line end; NaN is refused, which JSON does not have."""
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def report_files(
    measured: Measured, templates: Sequence[Path], plots: bool, png: bool
) -> dict[str, bytes]:
    """Return the content of every file of a report by its name.

    :param measured: its results with all that is added to them: comparison, gate, published.
    :param templates: the folder of report.html.j2.
    :param plots: whether to draw plots, which needs matplotlib.
    :param png: whether to write each plot as PNG too.
    :raises ImportError: matplotlib is missing.
    """
    tails = log_tails(measured.folder, logs_to_quote(measured.results))
    # Words of the plan and of variants are in them too, which nobody has searched.
    results = shown(measured.results)
    model = page(results, measured.plan, measured.runs, tails, plots)
    drawn = _plots(results, model["plots"], png) if plots else {}
    inline = [
        inline_svg(drawn[f"{figure}.svg"].decode("utf-8"), f"{figure}-", PAGE_COLOURS)
        for figure in model["plots"]
    ]
    texts = {
        "results.json": json_text(results),
        "results.csv": csv_text(results),
        "junit.xml": junit_text(results, tails),
        "scalebench.prom": prometheus_text(results),
        "report.html": page_html(templates, "report.html.j2", model, inline),
        "report.md": report_markdown(model),
    }
    return {**{name: text.encode("utf-8") for name, text in texts.items()}, **drawn}


def _plots(results: dict[str, Any], described: dict[str, str], png: bool) -> dict[str, bytes]:
    # Imported here, because only reports with plots pay for matplotlib.
    from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import (  # noqa: PLC0415
        png_bytes,
        svg_text,
    )
    from ansible_collections.scalebench.core.plugins.plugin_utils.report_figures import (  # noqa: PLC0415
        message_figure,
        step_figure,
    )
    from ansible_collections.scalebench.core.plugins.plugin_utils.scaling_figure import (  # noqa: PLC0415
        scaling_figure,
    )

    others = {"busbw": (message_figure, "collectives"), "step_parts": (step_figure, "step_parts")}
    series = plot_series(results)
    files: dict[str, bytes] = {}
    for figure, description in described.items():
        if figure in others:
            draw, key = others[figure]
            plot = draw(results[key])
        else:
            plot = scaling_figure(series, figure)
        svg = svg_text(plot, FIGURES[figure], description)
        files[f"{figure}.svg"] = svg.encode("utf-8")
        if png:
            files[f"{figure}.png"] = png_bytes(plot)
    return files


def log_tails(folder: Path, wanted: list[dict[str, str]]) -> dict[str, list[str]]:
    """Return by log its last lines without secrets, or those of the node that its reason names.

    :param wanted: of ``notes.logs_to_quote``; paths relative to ``folder``.
    """
    tails = {}
    for one in wanted:
        for path in _outputs(folder, one["log"], one["reason"]):
            # A forged record or a link must not put another file of this machine on the page.
            lines = last_lines(_last_text(path, folder))
            if lines:
                tails[one["log"]] = lines
                break
    return tails


def _outputs(folder: Path, log: str, reason: str) -> Iterator[Path]:
    path = folder / log
    node = _NODE.match(reason)
    if node:
        yield path.with_suffix(f".{node.group(1)}.out")
    yield path


def _last_text(path: Path, folder: Path) -> str:
    """Return the end of a file as text.

    :returns: nothing of what is no regular file, cannot be read or leads out of the folder.
    """
    try:
        with open_regular(path, folder) as file:
            before = max(0, os.fstat(file.fileno()).st_size - _LAST_BYTES)
            file.seek(before)
            text = file.read(_LAST_BYTES)
    except (OSError, ValueError):
        return ""
    return redacted_end(text, not before).decode("utf-8", "replace")
