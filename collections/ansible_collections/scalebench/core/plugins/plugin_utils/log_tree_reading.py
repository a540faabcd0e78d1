"""Reads any tree of training logs and computes its results."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.facts.logtree import group_logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.tree_records import (
    as_record,
    expected_of_path,
    no_facts_record,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.strategies import parameters_of
from ansible_collections.scalebench.core.plugins.plugin_utils.log_files import (
    files_below,
    read_all,
    read_facts,
)

__all__ = ["log_tree_results"]


def log_tree_results(log_dir: str, strategy: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the results of the tree of logs in a folder; its last component is their campaign.

    :param strategy: rule from the observations of a log to its throughput; ``auto`` is the usual
        one of the format.
    :raises ValueError: no folder, or no logs in it; an unknown strategy or parameter.
    """
    parameters_of("mean_after_warmup" if strategy == "auto" else strategy, parameters)
    folder = Path(log_dir).expanduser()
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "is not there"
        raise ValueError(f"log_dir {log_dir}: {what}; name a folder of logs")
    paths, problems = files_below(folder)
    tree = group_logs(paths, os.path.abspath(folder))
    if not tree["logs"]:
        raise ValueError(_no_logs(log_dir, paths, tree))
    read = partial(_record_of, folder=folder, strategy=strategy, parameters=parameters)
    name = Path(os.path.abspath(folder)).name or "logs"
    plan = {"campaign": name, "options": {"log_dir": log_dir, "strategy": strategy}}
    return build_results(plan, list(read_all(tree["logs"], read)), tree["unmatched"] + problems)


def _record_of(
    log: dict[str, Any], folder: Path, strategy: str, parameters: dict[str, Any]
) -> dict[str, Any]:
    """Return the run record of one log, with the reason where it gives no facts."""
    try:
        given = {"devices": log["nodes"] * log["devices_per_node"], **parameters}
        if log["run"]:
            given["run"] = log["run"]
        expected = partial(expected_of_path, log)
        facts = read_facts(folder / log["path"], strategy, given, expected)
    except OSError as error:
        return no_facts_record(log, error.strerror or str(error))
    except ValueError as error:
        return no_facts_record(log, str(error))
    return as_record(log, facts)


def _no_logs(log_dir: str, paths: list[str], tree: dict[str, Any]) -> str:
    if not paths:
        return f"log_dir {log_dir}: the folder is empty"
    said = "; ".join(f"{item['path']}: {item['reason']}" for item in tree["unmatched"][:5])
    return f"log_dir {log_dir}: none of its {len(paths)} files is a log by its name. {said}"
