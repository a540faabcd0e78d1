"""Reads a campaign's folder, plan, run records and logs, and computes its results."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import AUTO, log_rule
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan import expected_identity
from ansible_collections.scalebench.core.plugins.module_utils.records.results import Results
from ansible_collections.scalebench.core.plugins.module_utils.records.runs import (
    RunRecord,
    check_cell,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.strategies import parameters_of
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_files import (
    attempts,
    read_record,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.log_files import (
    files_below,
    read_all,
    read_facts,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.preflight_reading import (
    FILE,
    read_preflight,
)

__all__ = ["campaign_results"]


def campaign_results(folder: Path, strategy: str, parameters: dict[str, Any]) -> Results:
    """Return the results of the campaign in a folder, from its logs as they are now.

    :param strategy: rule from the observations of a log to its throughput; ``auto`` is the one that
        the benchmark names.
    :param parameters: of that rule; warm-up and iterations are the cell's if not given.
    :raises ValueError: there is no campaign; an unknown strategy or parameter.
    """
    plan, runs, problems = _load(folder)
    if strategy != AUTO:
        parameters_of(strategy, parameters)
    again = partial(_read_again, folder=folder, strategy=strategy, parameters=parameters)
    runs = list(read_all(runs, again))
    problems += [
        {"path": run["log"], "reason": "it is gone; its figures are those of the run record"}
        for run in runs
        if run.get("log_is_gone")
    ]
    try:
        preflight = read_preflight(folder)
    except ValueError as error:
        preflight = None
        problems.append({"path": FILE, "reason": str(error)})
    results = build_results(plan, runs, problems, attempts(folder))
    if preflight:
        results["preflight"] = preflight
    return results


def _read_again(
    run: RunRecord, folder: Path, strategy: str, parameters: dict[str, Any]
) -> RunRecord:
    """Return the record with the facts that its log gives now; without a log, those it has."""
    if run["ending"] != "ok":
        return run
    cell = run["cell"]
    try:
        rule = log_rule(cell, strategy, parameters)
        path = folder / run["log"]
        facts = read_facts(path, expected=lambda _own: expected_identity(cell), **rule)
    except FileNotFoundError:
        return {**run, "log_is_gone": True}
    except OSError as error:
        reason = error.strerror or str(error)
        return {**run, "facts": None, "ending": "invalid", "reason": reason}
    except ValueError as error:
        return {**run, "facts": None, "ending": "invalid", "reason": str(error)}
    return {**run, "facts": facts}


def _load(folder: Path) -> tuple[dict[str, Any], list[RunRecord], list[dict[str, str]]]:
    """Return plan, run records, and the problems of all other files of the folder.

    The records alone make a report: a plan that cannot be read is a problem to state.
    """
    paths, problems = files_below(folder) if folder.is_dir() else ([], [])
    plan: dict[str, Any] = {"campaign": Path(os.path.abspath(folder)).name}
    records = sorted(path for path in paths if path.endswith(".run.json"))
    runs = []
    for path in ["plan.json", *records]:
        try:
            if path == "plan.json":
                planned = json.loads((folder / path).read_text(encoding="utf-8"))
                for cell in planned["cells"]:
                    check_cell(cell)
                plan.update(planned)
            else:
                runs.append(read_record(folder, path))
        except FileNotFoundError:
            problems.append({"path": path, "reason": "it is not there"})
        except (OSError, ValueError, KeyError, TypeError) as error:
            problems.append({"path": path, "reason": f"it cannot be read: {error}"})
    if not runs and "cells" not in plan:
        raise ValueError(_no_campaign(folder, problems))
    known = {run["log"] for run in runs}
    problems += [
        {"path": path, "reason": "no run record beside it: the repeat did not end"}
        for path in paths
        if path.endswith(".log") and path not in known
    ]
    return plan, runs, problems


def _no_campaign(folder: Path, problems: list[dict[str, str]]) -> str:
    if folder.is_dir():
        reasons = "; ".join(f"{item['path']}: {item['reason']}" for item in problems)
        return f"{folder} is no campaign: {reasons}"
    others = sorted(path.parent.name for path in folder.parent.glob("*/plan.json"))
    there = f"there are {', '.join(others[-8:])}" if others else "there is none"
    return f"no campaign {folder.name} in {folder.parent}: {there}"
