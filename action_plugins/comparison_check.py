"""Checks the baseline, the gate and the topologies to predict before a campaign runs."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.comparison.cell_pairs import (
    check_common,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_plan import (
    detectable_lines,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_text import rule_lines
from ansible_collections.scalebench.core.plugins.module_utils.history.baselines import chosen_lines
from ansible_collections.scalebench.core.plugins.module_utils.results.prediction import (
    wanted_topologies,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.log_ratio import check_margin
from ansible_collections.scalebench.core.plugins.plugin_utils.baselines import baseline_of
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.verdicts import (
    ARGUMENTS,
    gate_of,
)


class ActionModule(ControllerAction):
    """Implements module comparison_check."""

    ARGUMENTS: ClassVar = {
        "campaign_dir": {"type": "path", "default": ""},
        "cells": {"type": "list", "elements": "dict", "default": []},
        "nodes": {"type": "dict", "default": {}},
        "predict": {"type": "str", "default": ""},
        **ARGUMENTS,
    }

    def answer(self, args):
        """Return a description of baseline and gate; change nothing."""
        own = Path(args["campaign_dir"]) if args["campaign_dir"] else None
        lines = []
        wanted_topologies(args["predict"])
        rules = gate_of(args)
        baseline = baseline_of(args, own, args["cells"], args["nodes"])
        if baseline:
            check_margin(args["equivalence_margin"])
            several = len(baseline.campaigns) > 1
            for one in baseline.campaigns if args["cells"] else ():
                check_common(args["cells"], one["cells"], one["campaign"] if several else "")
            lines += chosen_lines(baseline.campaigns, baseline.not_chosen)
            lines += detectable_lines(
                args["cells"], baseline.campaigns, rules or [], baseline.history
            )
        if rules:
            lines += [f"Gate: {args['gate']}", *(f"  {line}" for line in rule_lines(rules))]
        return {"changed": False, "text": "\n".join(lines)}
