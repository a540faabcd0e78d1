"""Door to MU node_problems."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_problems
short_description: Why a node will not do for a campaign
description: One sentence for each thing that keeps every repeat from running there.
positional: _input, place, work_dir, free_mib, pythons
options:
  _input:
    description: What module node_fingerprint_facts returned; an unreachable node's result too.
    type: dict
    required: true
  place:
    description: The node's address and port, for the message.
    type: str
    required: true
  work_dir:
    description: Scalebench's folder on the node.
    type: path
    required: true
  free_mib:
    description: The room that is needed there, in MiB.
    type: int
    required: true
  pythons:
    description: The interpreter of each framework of the campaign.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse a node that will not do
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join('\n') }}"
  vars:
    problems: "{{ probe | node_problems('10.11.0.2 port 22', '/var/tmp/scalebench', 500, {}) }}"
"""

RETURN = r"""
_value:
  description: The sentences; none where the node will do.
  type: list
  elements: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.running.node_problems import (
    node_problems,
)


class FilterModule:
    """Registers the pure function."""

    def filters(self) -> dict:
        """Return the filter by name."""
        return {"node_problems": node_problems}
