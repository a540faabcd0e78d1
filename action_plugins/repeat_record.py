"""Door to MU record: writes the run records of a wave on the controller, each last and whole."""

from __future__ import annotations

import json
from pathlib import Path

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import MAX
from ansible_collections.scalebench.core.plugins.module_utils.running import frontier
from ansible_collections.scalebench.core.plugins.module_utils.running.record import not_run, record
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files

SHOWN = ("log", "ending", "reason", "seconds", "disturbances")


class ActionModule(ActionBase):
    """Runs on the controller alone: it touches the campaign's folder and no node."""

    _requires_connection = False
    _supports_check_mode = False

    def run(self, tmp=None, task_vars=None):
        """Return the records' summaries; the records lie beside the logs."""
        result = super().run(tmp, task_vars)
        args = self._task.args
        folder = Path(args["directory"])
        skipped = list(args["skipped"])
        shown = []
        try:
            for repeat, facts in zip(args["wave"]["repeats"], args["facts"], strict=True):
                if repeat["log"] in skipped:
                    shown.append(self._kept(folder, repeat["log"]))
                    continue
                runs = {node: _run_of(told, repeat) for node, told in args["runs"].items()}
                made = record(self._campaign(), repeat, runs, facts)
                campaign_files.write_record(folder, made)
                Path(f"{folder / repeat['log']}.failed-{args['session']}").unlink(missing_ok=True)
                shown.append(made)
                if made["ending"] == "out_of_memory":
                    skipped += self._skip_larger(folder, made["cell"])
        except OSError as error:
            raise AnsibleError(f"{error.filename or folder}: {error.strerror}") from error
        result.update(changed=True, skipped_logs=skipped, records=[_summary(one) for one in shown])
        return result

    def _campaign(self):
        args = self._task.args
        known = {"campaign": args["campaign"], "session": args["session"]}
        return {**known, "recorded": campaign_files.now()}

    def _kept(self, folder, log):
        path = (folder / log).with_suffix(".run.json")
        return json.loads(path.read_text(encoding="utf-8"))

    def _skip_larger(self, folder, cell):
        """Record every repeat as skipped that needs more memory; return their logs.

        Those of this wave have run beside it: they keep the ending that they came to.
        """
        ended = {repeat["log"] for repeat in self._task.args["wave"]["repeats"]}
        ended.update(campaign_files.records(folder))
        planned = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        logs = []
        sized = [one for one in planned["cells"] if one["batch_size_per_device"] != MAX]
        for repeat in plan.repeats(sized):
            reason = frontier.skipped(repeat["cell"], [cell])
            if reason and repeat["log"] not in ended:
                campaign_files.write_record(
                    folder, not_run(self._campaign(), repeat, "skipped", reason)
                )
                logs.append(repeat["log"])
        return logs


def _run_of(told, repeat):
    """Return what a node tells of one repeat; what it tells of all where it tells no more."""
    return told.get("runs", {}).get(repeat["log"], told)


def _summary(made):
    facts = made["facts"] or {}
    figures = {key: facts.get(key) for key in ("throughput", "unit")}
    return {**{key: made[key] for key in SHOWN}, **figures}
