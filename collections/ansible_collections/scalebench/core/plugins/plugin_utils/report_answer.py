"""What the doors to results have in common: the files they write and what they return."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.layout.sections import markdown
from ansible_collections.scalebench.core.plugins.module_utils.report.extra_sections import (
    extra_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.junit import junit_text
from ansible_collections.scalebench.core.plugins.module_utils.report.markdown import markdown_parts
from ansible_collections.scalebench.core.plugins.module_utils.report.page_failures import (
    logs_to_quote,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.plot_series import plot_series
from ansible_collections.scalebench.core.plugins.module_utils.report.prometheus import (
    prometheus_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.text import (
    csv_text,
    terminal_table,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import write_texts
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import tails

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
    logs: Path | None = None,
) -> dict[str, Any]:
    """Write the results in every form and ``files``; return what the report's next steps need.

    :param logs: folder of the logs; ``folder`` itself if not given.
    """
    series = plot_series(results)
    last_lines = tails(logs or folder, logs_to_quote(results))
    texts = {
        folder / "results.json": json_text(results),
        folder / "results.csv": csv_text(results),
        folder / "junit.xml": junit_text(results, last_lines),
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
        "sections": [markdown(one) for one in extra_sections(results)],
        "series": series,
    }
