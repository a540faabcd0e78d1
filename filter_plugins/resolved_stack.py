"""Door to MU stacks.resolve."""

from __future__ import annotations

DOCUMENTATION = r"""
name: resolved_stack
short_description: A stack with the user's own versions in it and its addresses on mirrors
description:
  - Checks every part of the result, so that a typing error ends the play before anything is
    installed.
positional: _input, name, overrides, mirror, image_mirror
options:
  _input:
    description: What a file in C(stacks/) holds.
    type: dict
    required: true
  name:
    description: The stack's name.
    type: str
    required: true
  overrides:
    description: Keys to set instead, nested as in the file; null takes a record away.
    type: dict
    required: true
  mirror:
    description: Prefix of downloads; https://host/path becomes <mirror>/host/path.
    type: str
    default: ""
  image_mirror:
    description: Registry that takes the place of the images' own.
    type: str
    default: ""
seealso:
  - plugin: stack_problems
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Read the stack
  ansible.builtin.set_fact:
    stack_definition: "{{ lookup('ansible.builtin.file', 'stacks/v100-2026.yml') | from_yaml
      | resolved_stack('v100-2026', {'nccl': {'version': '2.27.7'}}) }}"
"""

RETURN = r"""
_value:
  description: The stack, as docs/stacks.md describes it.
  type: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.stacks.resolve import resolved_stack


class FilterModule:
    """Registers the pure function."""

    def filters(self) -> dict:
        """Return the filter by name."""
        return {"resolved_stack": resolved_stack}
