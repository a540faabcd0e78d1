"""Door to MU scaling: speed-ups from one speed per topology."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: speedups
version_added: 0.1.0
short_description: Speed-ups from one speed per topology
description:
  - Divides each speed by that of the baseline.
  - A missing speed or a missing baseline gives null, never 1.0.
positional: baseline, rounding
options:
  _input:
    description: From a topology such as C(2n8g) to its samples/s, or null.
    type: dict
    required: true
  baseline:
    description: The topology whose speed-up is 1.
    type: str
    default: 1n1g
  rounding:
    description: Rule of P(round_as#filter).
    type: str
    default: numpy_2
"""

EXAMPLES = r"""
- name: Speed-ups of the OneFlow report
  ansible.builtin.debug:
    msg: "{{ {'1n1g': 383.760, '1n2g': 747.295, '4n8g': 11548.451} | speedups }}"
  # {'1n1g': 1.0, '1n2g': 1.95, '4n8g': 30.09}
"""

RETURN = r"""
_value:
  description: From the topology, in order, to its speed-up or null.
  type: dict
  sample: {1n1g: 1.0, 1n2g: 1.95, 4n8g: 30.09}
"""

from ansible_collections.scalebench.core.plugins.module_utils.results.scaling import speedups


class FilterModule:
    """The filter speedups."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"speedups": speedups}
