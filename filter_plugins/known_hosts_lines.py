"""Door to MU known_hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: known_hosts_lines
short_description: Renew the lines of some hosts in a known_hosts file
description: Keeps the lines of the other hosts, drops comments, sorts.
positional: _input, keys, port
options:
  _input:
    description: The file's text as it is; empty where there is none.
    type: str
    required: true
  keys:
    description: List of public host keys by address.
    type: dict
    required: true
  port:
    description: The port that these hosts listen on.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Show the lines
  ansible.builtin.debug:
    msg: "{{ '' | known_hosts_lines({'127.0.0.2': ['ssh-ed25519 AAAAC3Nz']}, 10000) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.running.known_hosts import (
    known_hosts_lines,
)


class FilterModule:
    """Registers the pure function."""

    def filters(self) -> dict:
        """Return the filter by name."""
        return {"known_hosts_lines": known_hosts_lines}
