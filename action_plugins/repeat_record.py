"""Writes the run records of a wave on the controller, with MU running/record."""

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
    """Runs on the controller only, in the campaign's folder."""

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
                runs = {name: _run_of(answer, repeat) for name, answer in args["runs"].items()}
                made = record(self._campaign(), repeat, runs, facts)
                campaign_files.write_record(folder, made)
                Path(f"{folder / repeat['log']}.failed-{args['session']}").unlink(missing_ok=True)
                shown.append(made)
                if made["ending"] == "out_of_memory":
                    skipped += self._skip_larger(folder, made["cell"])
        except OSError as error:
            raise AnsibleError(f"{error.filename or folder}: {error.strerror}") from error
        summaries = [_summary(made) for made in shown]
        result.update(changed=True, skipped_logs=skipped, records=summaries)
        return result

    def _campaign(self):
        args = self._task.args
        known = {"campaign": args["campaign"], "session": args["session"]}
        return {**known, "recorded": campaign_files.now()}

    def _kept(self, folder, log):
        return campaign_files.read_record(folder, log.removesuffix(".log") + ".run.json")

    def _skip_larger(self, folder, exhausted):
        """Record every repeat as skipped that needs more memory; return their logs.

        Repeats of this wave have run already: they keep their ending.

        :param exhausted: the cell that ran out of memory.
        """
        ended = {repeat["log"] for repeat in self._task.args["wave"]["repeats"]}
        ended.update(campaign_files.records(folder))
        planned = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        logs = []
        sized = [cell for cell in planned["cells"] if cell["batch_size_per_device"] != MAX]
        for repeat in plan.repeats(sized):
            reason = frontier.skipped(repeat["cell"], [exhausted])
            if reason and repeat["log"] not in ended:
                made = not_run(self._campaign(), repeat, "skipped", reason)
                campaign_files.write_record(folder, made)
                logs.append(repeat["log"])
        return logs


def _run_of(answer, repeat):
    """Return a node's result of one repeat, its whole answer where the task failed."""
    return answer.get("runs", {}).get(repeat["log"], answer)


def _summary(made):
    facts = made["facts"] or {}
    figures = {key: facts.get(key) for key in ("throughput", "unit")}
    return {**{key: made[key] for key in SHOWN}, **figures}
