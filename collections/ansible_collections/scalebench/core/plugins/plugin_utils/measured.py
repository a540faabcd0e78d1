"""Reads a campaign, or any tree of training logs, and computes its results."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import shown
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import AUTO, log_rule
from ansible_collections.scalebench.core.plugins.module_utils.facts.logtree import (
    as_record,
    expected_of_path,
    group_logs,
    no_facts_record,
)
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.logs import UnforeseenError
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan import expected_identity
from ansible_collections.scalebench.core.plugins.module_utils.preflight.verdict import Row
from ansible_collections.scalebench.core.plugins.module_utils.records.cells import cell_key
from ansible_collections.scalebench.core.plugins.module_utils.records.results import Results
from ansible_collections.scalebench.core.plugins.module_utils.records.runs import RunRecord
from ansible_collections.scalebench.core.plugins.module_utils.records.shape import check_shape
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.strategies import parameters_of
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_files import (
    PLAN,
    attempts,
    check_logs,
    lost_log,
    read_plan,
    read_record,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    read_json,
    user_path,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.log_files import (
    files_below,
    read_all,
    read_facts,
)

__all__ = ["Measured", "read_campaign", "read_log_tree"]

PREFLIGHT = "preflight.json"
Problems = list[dict[str, str]]
# Of a preflight: 31 checks of 3,000 nodes are fewer.
_MOST_ROWS = 100_000
# What a cell runs beside its repeats, as the names of their logs end.
_BESIDE = ("search", "alone")


class _Preflight(TypedDict):
    """What preflight.json holds."""

    verdict: str
    summary: str
    counts: dict[str, int]
    rows: list[Row]


@dataclass
class Measured:
    """Plan and run records as they were read, and the results computed from them.

    ``folder``: where the logs are, to which their paths in the results are relative.
    """

    folder: Path
    plan: dict[str, Any]
    runs: list[RunRecord]
    results: Results


def read_campaign(folder: Path, strategy: str, parameters: dict[str, Any]) -> Measured:
    """Return the campaign in a folder, with the results of its logs as they are now.

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
    preflight = _preflight(folder, problems)
    earlier = attempts(folder, problems)
    results = build_results(plan, runs, problems, earlier)
    if preflight:
        results["preflight"] = preflight
    return Measured(folder, plan, runs, results)


def read_log_tree(
    log_dir: str,
    strategy: str,
    parameters: dict[str, Any],
    target_accuracy: float | None = None,
) -> Measured:
    """Return the tree of logs in a folder with its results; their campaign is the folder's name.

    :param strategy: rule from the observations of a log to its throughput; ``auto`` is the usual
        one of the format.
    :param target_accuracy: top-1 accuracy in percent to which the time is wanted, None for what the
        logs state.
    :raises ValueError: no folder, or no logs in it; an unknown strategy or parameter.
    """
    parameters_of("mean_after_warmup" if strategy == AUTO else strategy, parameters)
    folder = user_path(log_dir)
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "is not there"
        raise ValueError(f"log_dir {log_dir}: {what}; name a folder of logs")
    if (folder / PLAN).is_file():
        results, campaign = os.path.split(os.path.abspath(folder))
        raise ValueError(
            f"log_dir {log_dir}: is the folder of a campaign: report it with -e campaign={campaign}"
            f" and, where {results} is not the usual folder, -e report_results_dir={results}"
        )
    paths, problems = files_below(folder)
    tree = group_logs(paths, os.path.abspath(folder))
    if not tree["logs"]:
        raise ValueError(f"log_dir {log_dir}: {_no_logs(paths, tree)}")
    rule = {"strategy": strategy, "parameters": parameters, "target_accuracy": target_accuracy}
    read = partial(_record_of, folder=folder, **rule)
    name = Path(os.path.abspath(folder)).name or "logs"
    plan = {"campaign": name, "options": {"log_dir": log_dir, "strategy": strategy}}
    runs = list(read_all(tree["logs"], read))
    return Measured(folder, plan, runs, build_results(plan, runs, tree["unmatched"] + problems))


def _no_logs(paths: list[str], tree: dict[str, Any]) -> str:
    if not paths:
        return "the folder is empty"
    reasons = "; ".join(f"{item['path']}: {item['reason']}" for item in tree["unmatched"][:5])
    return f"none of its {len(paths)} files is a log by its name. {reasons}"


def _record_of(
    log: dict[str, Any],
    folder: Path,
    strategy: str,
    parameters: dict[str, Any],
    target_accuracy: float | None,
) -> dict[str, Any]:
    """Return the run record of one log, with the reason where it gives no facts."""
    try:
        known = {"devices": log["nodes"] * log["devices_per_node"], **parameters}
        if log["run"]:
            known["run"] = log["run"]
        expected = partial(expected_of_path, log)
        facts = read_facts(
            folder / log["path"],
            folder,
            strategy,
            known,
            expected,
            target_accuracy=target_accuracy,
        )
    except OSError as error:
        return no_facts_record(log, error.strerror or str(error))
    except ValueError as error:
        return no_facts_record(log, shown(str(error)))
    record = as_record(log, shown(facts))
    return {**record, "reason": shown(record["reason"])}


def _read_again(
    run: RunRecord, folder: Path, strategy: str, parameters: dict[str, Any]
) -> RunRecord:
    """Return the record with the facts that its log gives now; without a log, those it has."""
    if run["ending"] != "ok":
        return run
    cell, ours = run["cell"], False
    try:
        rule = log_rule(cell, strategy, parameters)
        target = cell.get("target_accuracy")
        expect = expected_identity(cell)
        facts = read_facts(
            folder / run["log"],
            folder,
            expected=lambda _own: expect,
            target_accuracy=target,
            **rule,
        )
    except FileNotFoundError:
        return {**run, "log_is_gone": True}
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:
        reason, ours = shown(str(error)), isinstance(error, UnforeseenError)
    else:
        return {**run, "facts": shown(facts)}
    if strategy == AUTO and not parameters and not ours and not lost_log(folder, run):
        # By its record it is done, and bench.yml would leave it.
        record = Path(run["log"]).with_suffix(".run.json")
        reason += f"; the log was good when the repeat ended: remove {record} to run it again"
    return {**run, "facts": None, "ending": "invalid", "reason": reason}


def _load(folder: Path) -> tuple[dict[str, Any], list[RunRecord], Problems]:
    """Return plan, run records, and the problems of all other files of the folder.

    The records alone make a report: a plan that cannot be read is a problem to report.
    """
    check_logs(folder)
    paths, problems = files_below(folder) if folder.is_dir() else ([], [])
    plan: dict[str, Any] = {"campaign": Path(os.path.abspath(folder)).name}
    records = sorted(path for path in paths if path.endswith(".run.json"))
    runs = []
    for path in [PLAN, *records]:
        try:
            if path == PLAN:
                plan.update(read_plan(folder))
            else:
                runs.append(read_record(folder, path))
        except FileNotFoundError:
            problems.append({"path": path, "reason": "it is not there"})
        except (OSError, ValueError) as error:
            problems.append({"path": path, "reason": shown(f"it cannot be read: {error}")})
    if not runs and "cells" not in plan:
        raise ValueError(_no_campaign(folder, problems))
    known = {path.removesuffix(".run.json") + ".log" for path in records}
    problems += [
        {"path": path, "reason": "no run record beside it: the repeat did not end"}
        for path in paths
        if path.endswith(".log") and path not in known
    ]
    return plan, _once(runs, problems), problems


def _once(runs: list[RunRecord], problems: Problems) -> list[RunRecord]:
    """Return the records, each repeat once: a copy is no repeat of its own.

    The one that lies where its cell's logs lie counts.
    """
    kept: dict[tuple[Any, ...], RunRecord] = {}
    for run in sorted(runs, key=_lies_elsewhere):
        cell = run["cell"]
        # By the log's name: what did not fit becomes a probe beside the one of the same size.
        what = next((kind for kind in _BESIDE if run["log"].endswith(f"_{kind}.log")), "measured")
        repeat = (cell_key(cell), str(cell["batch_size_per_device"]), run["repeat"], what)
        counts = kept.setdefault(repeat, run)
        if counts is not run:
            reason = f"it is the same repeat as {counts['log']}, which counts: remove this one"
            problems.append({"path": run["log"], "reason": shown(plain(reason))})
    logs = {run["log"] for run in kept.values()}
    return [run for run in runs if run["log"] in logs]


def _lies_elsewhere(run: RunRecord) -> bool:
    return not run["log"].startswith(f"logs/{run['cell'].get('directory')}/")


def _no_campaign(folder: Path, problems: Problems) -> str:
    if folder.is_dir():
        reasons = "; ".join(f"{item['path']}: {item['reason']}" for item in problems)
        return f"{folder} is not a campaign: {reasons}"
    others = sorted(path.parent.name for path in folder.parent.glob("*/plan.json"))
    there = f"there are {', '.join(others[-8:])}" if others else "there is none"
    return f"no campaign {folder.name} in {folder.parent}: {there}"


def _preflight(folder: Path, problems: Problems) -> dict[str, Any] | None:
    """Return ``verdict``, ``summary``, ``counts`` and the ``rows`` that warned or failed.

    None where the campaign had no preflight, or its file cannot be read, which is a problem.
    """
    try:
        preflight = shown(read_json(folder / PREFLIGHT, folder=folder))
        check_shape(preflight, _Preflight, PREFLIGHT, {})
        return {
            **{key: preflight[key] for key in ("verdict", "summary", "counts")},
            "rows": [
                {key: row[key] for key in Row.__annotations__}
                for row in preflight["rows"][:_MOST_ROWS]
                if row["verdict"] in ("fail", "warn")
            ],
        }
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        problems.append({"path": PREFLIGHT, "reason": shown(f"it cannot be read: {error}")})
        return None
