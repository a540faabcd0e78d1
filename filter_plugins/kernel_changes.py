"""Door to MU stacks.package_changes."""

from __future__ import annotations

DOCUMENTATION = r"""
name: kernel_changes
short_description: Which kernels an installation would install or remove
description: Reads what C(apt-get --simulate) prints.
positional: _input
options:
  _input:
    description: The output of the simulation.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Refuse an installation that brings another kernel
  ansible.builtin.assert:
    that: simulation.stdout | kernel_changes | length == 0
"""

RETURN = r"""
_value:
  description: What would be done, as C(install linux-image-6.1.0-40-amd64).
  type: list
  elements: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.stacks.package_changes import (
    kernel_changes,
)


class FilterModule:
    """Registers the pure function."""

    def filters(self) -> dict:
        """Return the filter by name."""
        return {"kernel_changes": kernel_changes}
