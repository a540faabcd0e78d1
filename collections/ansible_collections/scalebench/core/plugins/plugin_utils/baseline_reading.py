"""Finds and reads a baseline: a campaign, its archive, a results.json, or a tree of logs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.plugin_utils.archive_reading import head, unpack
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_reading import (
    campaign_results,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.log_tree_reading import (
    log_tree_results,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import read_results

__all__ = ["find_baseline", "read_baseline"]


def find_baseline(given: str, results_dir: Path, own: Path | None) -> Path:
    """Return the folder or file of a baseline.

    :param given: a campaign's name, or the path of its folder, its archive, a results.json, or a
        tree of logs.
    :param results_dir: the folder of all campaigns.
    :param own: the folder of the campaign that is to be compared with it.
    :raises ValueError: there is none, or it is the campaign itself.
    """
    named = results_dir / given
    path = named if (named / "plan.json").is_file() else Path(given).expanduser()
    if not path.exists():
        known = sorted(plan.parent.name for plan in results_dir.glob("*/plan.json"))
        there = f"there are {', '.join(known[-8:])}" if known else "there is none"
        raise ValueError(f"no file or folder, and no campaign in {results_dir}: {there}")
    folder = path.parent if path.name == "results.json" else path
    if own and own.resolve() == folder.resolve():
        raise ValueError("it is the campaign itself")
    return path


def read_baseline(path: Path, strategy: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a baseline, computed anew by the same rule where its logs are there.

    :param path: of ``find_baseline``.
    :param strategy: rule from the observations of a log to its throughput, or ``auto``.
    :param parameters: of that rule.
    :raises ValueError: it is none of what it can be, or is damaged.
    :raises OSError: it cannot be read.
    """
    if path.is_dir():
        return _of_folder(path, strategy, parameters)
    if path.suffix == ".json":
        return read_results(path)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / head(path)[0]
        unpack(path, folder)
        return _of_folder(folder, strategy, parameters)


def _of_folder(folder: Path, strategy: str, parameters: dict[str, Any]) -> dict[str, Any]:
    if (folder / "plan.json").is_file() or any(folder.rglob("*.run.json")):
        return campaign_results(folder, strategy, parameters)
    if (folder / "results.json").is_file():
        return read_results(folder / "results.json")
    return log_tree_results(str(folder), strategy, parameters)
