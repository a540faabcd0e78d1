"""What the doors to results have in common: the files they write and what they return."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.junit import junit_text
from ansible_collections.scalebench.core.plugins.module_utils.plot_series import (
    describe,
    plot_series,
)
from ansible_collections.scalebench.core.plugins.module_utils.prometheus import prometheus_text
from ansible_collections.scalebench.core.plugins.module_utils.report_markdown import markdown_parts
from ansible_collections.scalebench.core.plugins.module_utils.report_text import (
    csv_text,
    terminal_table,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.written import write_texts

__all__ = ["answer", "json_text"]


def json_text(value: Any, indent: int | None = 1) -> str:
    """Return JSON with a line end; no NaN, which is no JSON."""
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def answer(
    results: dict[str, Any],
    folder: Path,
    files: dict[Path, str],
    check_mode: bool,
    with_diff: bool,
    last_lines: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Write the results in every form and ``files``; return what the report's next steps need.

    :param last_lines: of logs of repeats that failed, by their path in the results.
    """
    series = plot_series(results)
    texts = {
        folder / "results.json": json_text(results),
        folder / "results.csv": csv_text(results),
        folder / "junit.xml": junit_text(results, last_lines or {}),
        folder / "scalebench.prom": prometheus_text(results),
        **files,
    }
    return {
        **write_texts(texts, check_mode, with_diff),
        "folder": str(folder),
        "facts": results["facts"],
        "counts": results["counts"],
        "failures": results["failures"],
        "table": terminal_table(results),
        "parts": markdown_parts(results),
        "series": series,
        "described": {name: describe(series, name) for name in ("throughput", "speedup")},
    }
