"""Reads the results of all campaigns of a folder, on the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.history.trends import entry
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import read_results

__all__ = ["read_campaigns"]


def read_campaigns(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return an entry (``trends.entry``) for each campaign below a folder, and what is none.

    :returns: the entries; ``folder`` and ``reason`` of each folder that holds a plan or results,
        and none that can be read.
    :raises OSError: the folder cannot be listed.
    """
    entries, left_out = [], []
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        path = place / "results.json"
        try:
            if path.exists():
                entries.append(entry(read_results(path), place.name))
            elif (place / "plan.json").exists():
                raise ValueError(
                    "it has a plan and no results.json: playbooks/report.yml"
                    f" -e campaign={place.name} writes it"
                )
        except ValueError as error:
            left_out.append({"folder": place.name, "reason": str(error)})
    return entries, left_out
