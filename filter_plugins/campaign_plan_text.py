"""Door to MU plan_text."""

from __future__ import annotations

DOCUMENTATION = r"""
name: campaign_plan_text
short_description: The plan of a campaign in words
description: Cells, order, expected time and the exact command of every node of every cell.
positional: _input
options:
  _input:
    description: What module campaign_plan returned.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the plan
  ansible.builtin.debug:
    msg: "{{ plan | campaign_plan_text }}"
"""

RETURN = r"""
_value:
  description: The text.
  type: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_text import plan_text


class FilterModule:
    """Registers the pure function."""

    def filters(self) -> dict:
        """Return the filter by name."""
        return {"campaign_plan_text": plan_text}
