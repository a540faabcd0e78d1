"""Door to MU stacks.problems."""

from __future__ import annotations

DOCUMENTATION = r"""
name: stack_problems
short_description: Why a stack cannot work on a node's hardware
description:
  - One sentence for each reason, as CUDA 13 on a V100, or a driver that is older than the toolkit
    needs.
positional: _input, hardware
options:
  _input:
    description: A stack, as P(resolved_stack#filter) returns it.
    type: dict
    required: true
  hardware:
    description: What module M(gpu_hardware_facts) found.
    type: dict
    required: true
seealso:
  - plugin: resolved_stack
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Refuse a stack that cannot work here
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join('; ') }}"
  vars:
    problems: "{{ stack_definition | stack_problems(stack_hardware) }}"
"""

RETURN = r"""
_value:
  description: The sentences; none where the stack can work.
  type: list
  elements: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.stacks.problems import stack_problems


class FilterModule:
    """Registers the pure function."""

    def filters(self) -> dict:
        """Return the filter by name."""
        return {"stack_problems": stack_problems}
