"""Door to MU options and plan: checks, plans, compares, writes; on the controller."""

from __future__ import annotations

import re
import time
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils import matrix, plan
from ansible_collections.scalebench.core.plugins.module_utils.options import misspelt, parse_options
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files as files

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


class ActionModule(ActionBase):
    """Runs on the controller alone, where benchmark files and results are."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Return the checked options' frameworks, and with nodes the plan."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "variables": {"type": "dict", "required": True},
                "known": {"type": "list", "elements": "str", "default": []},
                "benchmarks_dir": {"type": "path", "required": True},
                "results_dir": {"type": "path", "required": True},
                "campaign": {"type": "str", "default": ""},
                "free_mib": {"type": "int", "default": 0},
                "nodes": {"type": "dict"},
            }
        )
        campaign = args["campaign"] or time.strftime("%Y%m%d-%H%M%S")
        try:
            result.update(campaign=campaign, **self._answer(args, campaign))
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        except OSError as error:
            raise AnsibleActionFail(f"{error.filename}: {error.strerror}") from None
        return result

    def _answer(self, args, campaign):
        wrong = misspelt(args["variables"], args["known"])
        if wrong:
            raise ValueError(" ".join(wrong))
        if not NAME.fullmatch(campaign):
            raise ValueError(
                f"-e campaign={campaign}: a campaign's name is a folder's name:"
                " letters, digits and ._+-"
            )
        folder = Path(args["results_dir"]) / campaign
        files.check_room(folder, args["free_mib"])
        benchmarks = files.load_benchmarks(Path(args["benchmarks_dir"]))
        kept = files.kept_plan(folder)
        # Where nothing but the campaign's name was given, it goes on as it was planned.
        options = parse_options(args["variables"]) or kept.get("options", {})
        frameworks = matrix.frameworks(benchmarks, options)
        if args["nodes"] is None:
            return {"changed": False, "frameworks": frameworks}
        planned = plan.build(benchmarks, options, args["nodes"])
        if kept:
            plan.check_same(campaign, kept, planned)
        return {
            "directory": str(folder),
            "frameworks": frameworks,
            **self._missing(folder, campaign, planned, not kept),
        }

    def _missing(self, folder, campaign, planned, new):
        records = files.records(folder)
        every = plan.repeats(planned["cells"])
        left = plan.missing(every, {log: record["ending"] for log, record in records.items()})
        if not self._task.check_mode:
            if new:
                files.write(folder, campaign, planned)
            for repeat in left:
                if repeat["log"] in records:
                    files.set_aside(folder, records[repeat["log"]])
        times = files.earlier(folder.parent)
        seconds = [plan.estimate(repeat, times) for repeat in left]
        return {
            "changed": new,
            "cells": planned["cells"],
            "repeats": len(every),
            "missing": [{**repeat, "seconds": expected} for repeat, expected in zip(left, seconds)],
            "seconds": sum(seconds),
            "measured": sum(plan.cell_key(repeat["cell"]) in times for repeat in left),
        }
