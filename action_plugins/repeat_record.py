"""Reads the logs of one wave and writes its run records, each atomically and after its log."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import shown
from ansible_collections.scalebench.core.plugins.module_utils.node import log_reading
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.records.factors import MAX
from ansible_collections.scalebench.core.plugins.module_utils.records.node_names import by_words
from ansible_collections.scalebench.core.plugins.module_utils.running import search
from ansible_collections.scalebench.core.plugins.module_utils.running.record import not_run, record
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)

SUMMARY_KEYS = ("log", "ending", "reason", "seconds", "disturbances")


class ActionModule(ControllerAction):
    """Implements module repeat_record."""

    _supports_check_mode = False
    ARGUMENTS: ClassVar = {
        "campaign": {"type": "str", "required": True},
        "session": {"type": "str", "required": True},
        "directory": {"type": "path", "required": True},
        "repeats": {"type": "list", "elements": "dict", "required": True},
        "runs": {"type": "dict", "required": True},
        "skipped": {"type": "list", "elements": "str", "default": []},
        "lost": {"type": "dict", "default": {}},
    }

    def answer(self, args):
        """Write the records; return their summaries, the skipped logs and the lost nodes."""
        folder, skipped = Path(args["directory"]), list(args["skipped"])
        records = []
        for repeat in args["repeats"]:
            log = repeat["log"]
            if log in skipped:
                path = log.removesuffix(".log") + ".run.json"
                records.append(campaign_files.read_record(folder, path))
                continue
            runs = {node: _run_of(result, log) for node, result in args["runs"].items()}
            gone = [(n, args["lost"][n]) for n in repeat["cell"]["node_names"] if n in args["lost"]]
            made = (
                not_run(_header(args), repeat, "unavailable", "; ".join(by_words(gone)))
                if gone
                else record(_header(args), repeat, runs, _facts_of(folder, repeat))
            )
            # A log's words may hold secrets and commands to a terminal.
            made = {**shown(made), "cell": made["cell"]}
            campaign_files.write_record(folder, made)
            Path(f"{folder / log}.failed-{args['session']}").unlink(missing_ok=True)
            records.append(made)
            if made["ending"] == "out_of_memory":
                skipped += _skip_larger(folder, made["cell"], args)
        _stop_without_nodes(args)
        return {
            "changed": True,
            "skipped_logs": skipped,
            "records": [_summary(made) for made in records],
            "lost": {**_lost(args["runs"]), **args["lost"]},
        }


def _facts_of(folder, repeat):
    """Return the facts of a repeat's log; of one that cannot be read why, which is a result too."""
    given = {
        **repeat["cell"]["reading"],
        "path": [str(folder / repeat["log"])],
        "expect": repeat["expect"],
        "target_accuracy": repeat["cell"].get("target_accuracy") or None,
        "observations": False,
    }
    try:
        return log_reading.read_logs(given)
    except ValueError as error:
        return {"failed": True, "msg": str(error)}


def _lost(runs):
    """Return by node that was unreachable and did not answer afterwards either, since when."""
    at = campaign_files.now()[:19]
    return {
        node: f"lost at {at} UTC: {run['gone'].strip().splitlines()[-1]}"
        for node, run in runs.items()
        if run.get("gone")
    }


def _header(args):
    """Return the keys that all records of this call have in common."""
    known = {key: args[key] for key in ("campaign", "session")}
    return {**known, "recorded": campaign_files.now()}


def _run_of(result, log):
    """Return a node's result of one repeat.

    A node that failed as a whole (it was unreachable, say) has one result for all its repeats.
    """
    return result.get("runs", {}).get(log, result)


def _stop_without_nodes(args):
    """Fail where the carrier can start nothing more: the other repeats stay to be run."""
    for result in args["runs"].values():
        for run in result.get("runs", {}).values():
            if run.get("carrier_over"):
                raise ValueError(
                    f"{run['reason']}. What is missing runs in a new allocation:"
                    f" give -e campaign={args['campaign']}"
                )


def _skip_larger(folder, exhausted, args):
    """Record repeats that need more memory than cell ``exhausted`` as skipped; return their logs.

    The repeats of this wave have run at the same time and keep their own endings.
    """
    ended = {repeat["log"] for repeat in args["repeats"]}
    ended.update(campaign_files.records(folder))
    planned = campaign_files.kept_plan(folder)
    sized = [cell for cell in planned["cells"] if cell["batch_size_per_device"] != MAX]
    logs = []
    for repeat in plan.repeats(sized):
        reason = search.skipped(repeat["cell"], [exhausted])
        if reason and repeat["log"] not in ended:
            skipped = not_run(_header(args), repeat, "skipped", reason)
            campaign_files.write_record(folder, skipped)
            logs.append(repeat["log"])
    return logs


def _summary(made):
    facts = made["facts"] or {}
    figures = {key: facts.get(key) for key in ("throughput", "unit")}
    return {**{key: made[key] for key in SUMMARY_KEYS}, **figures}
