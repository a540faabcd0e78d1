"""Door to MU authorized_keys."""

from __future__ import annotations

DOCUMENTATION = r"""
name: authorized_keys_lines
short_description: Renew the keys of some nodes in an authorized_keys file
description:
  - Keeps the lines of members whose keys are not given, drops those of everyone else, sorts.
  - The comment of a line is the name of its owner.
positional: _input, keys, members
options:
  _input:
    description: The file's text as it is; empty where there is none.
    type: str
    required: true
  keys:
    description: List of public keys by owner.
    type: dict
    required: true
  members:
    description: Everyone who may have a key.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show the lines
  ansible.builtin.debug:
    msg: "{{ '' | authorized_keys_lines({'node1': ['ssh-ed25519 AAAAC3Nz']}, ['node1', 'node2']) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.running.authorized_keys import (
    authorized_keys_lines,
)


class FilterModule:
    """Registers the pure function."""

    def filters(self) -> dict:
        """Return the filter by name."""
        return {"authorized_keys_lines": authorized_keys_lines}
