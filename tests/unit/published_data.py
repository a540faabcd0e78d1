"""The documents of published/, for the tests that lean on them."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.scalebench.core.plugins.module_utils.published.rows import published_rows

FOLDER = Path(__file__).resolve().parents[2] / "published"


def documents() -> list[Path]:
    return sorted(FOLDER.glob("*.yml"))


@cache
def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of one document, by the name of its file without the ending."""
    document = yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8"))
    return published_rows(document, name)


def all_rows() -> list[dict[str, Any]]:
    return [row for path in documents() for row in rows(path.stem)]


def by_series() -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """Return {(document, series): {topology: row}}."""
    series: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in all_rows():
        series.setdefault((row["source"], row["series"]), {})[row["topology"]] = row
    return series
