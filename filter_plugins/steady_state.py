"""Door to MU within_run: where the start-up of a run ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: steady_state
version_added: 0.1.0
short_description: Find where the start-up of a run ends
description:
  - The rule is MSER-5 (White 1997). In groups of five values, the start-up is what has to go so
    that the mean of the rest is known best.
  - A start-up of more than half of the run means that no steady state was reached.
options:
  _input:
    description: Throughputs in the order of time.
    type: list
    elements: float
    required: true
seealso:
  - plugin: within_run
    plugin_type: filter
"""

EXAMPLES = r"""
- name: See whether a warm-up of 20 was long enough
  ansible.builtin.assert:
    that: (speeds | steady_state).start <= 20
  vars:
    speeds: "{{ (log | training_log).observations | map(attribute='throughput') }}"
"""

RETURN = r"""
_value:
  description: reached (null with fewer than 20 values), start, count, mean of the steady part, and
    drift, its second half over its first, less 1.
  type: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.facts.within_run import steady_state


class FilterModule:
    """The filter steady_state."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"steady_state": steady_state}
