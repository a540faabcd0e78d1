"""Door to MU table: facts to the rows of the seeds' tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: speedup_rows
version_added: 0.1.0
short_description: The rows of the seeds' table from facts
description: One row per topology, in order, with the seeds' column names and the efficiency.
positional: model
options:
  _input:
    description: What P(scaling_facts#filter) gives, or the part of it below one model.
    type: dict
    required: true
  model:
    description: The model to show; needed where the facts hold several.
    type: str
"""

EXAMPLES = r"""
- name: Gate on the efficiency of each topology
  ansible.builtin.assert:
    that: item.efficiency is none or item.efficiency > 0.8
  loop: "{{ {'1n1g': [362.4], '4n8g': [9514.64]} | scaling_facts | speedup_rows }}"
  # {'node_num': 4, 'gpu_num': 32, 'samples/s': 9514.64, 'speedup': 26.25, 'efficiency': 0.8203}
"""

RETURN = r"""
_value:
  description: node_num, gpu_num, samples/s, speedup, and efficiency (speed-up / devices, 4
    decimals); null for what is missing.
  type: list
  elements: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.layout.table import speedup_rows


class FilterModule:
    """The filter speedup_rows."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"speedup_rows": speedup_rows}
