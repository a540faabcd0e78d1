"""Door to MU gate_file and cell_pairs: checks baseline and gate before a campaign runs."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.comparison.baseline import (
    check_margin,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.cell_pairs import (
    check_common,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_text import rule_lines
from ansible_collections.scalebench.core.plugins.plugin_utils.verdicts import (
    ARGUMENTS,
    baseline_of,
    gate_of,
)


class ActionModule(ActionBase):
    """Runs on the controller alone, where baseline and gate are."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Return what they are in words; changes nothing."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                **ARGUMENTS,
                "strategy": {"type": "str", "default": "auto"},
                "parameters": {"type": "dict", "default": {}},
                "campaign_dir": {"type": "str", "default": ""},
                "cells": {"type": "list", "elements": "dict", "default": []},
            }
        )
        own = Path(args["campaign_dir"]).expanduser() if args["campaign_dir"] else None
        lines = []
        try:
            rules, baseline = gate_of(args), baseline_of(args, own)
            if baseline:
                check_margin(args["equivalence_margin"])
                if args["cells"]:
                    check_common(args["cells"], baseline["cells"])
                count = baseline["counts"]["cells"]
                lines.append(f"Baseline: {baseline['campaign']}, {count} cell(s)")
            if rules:
                lines += [f"Gate: {args['gate']}", *(f"  {line}" for line in rule_lines(rules))]
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        result.update(changed=False, text="\n".join(lines))
        return result
