"""Door to MU scaling: speeds of repeats to average, median and speed-up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: scaling_facts
version_added: 0.1.0
short_description: Average, median and speed-up of the repeats of each topology
description:
  - Takes the speeds of one group, that is of one benchmark, precision, batch size and variant.
  - Gives the facts that the extractors of the seeds print. The speed-up is the quotient of the
    rounded medians.
  - Where the baseline or the topology has no speed, C(speedup) is null and C(speedup_reason) says
    why; it is never 1.0 by default.
positional: model, batch_size_per_device
options:
  _input:
    description: From a topology such as C(4n8g) to the samples/s of its repeats, as a list or as a
      mapping from repeat; null is a repeat that failed.
    type: dict
    required: true
  model:
    description: The name under which the facts stand.
    type: str
    default: r50
  batch_size_per_device:
    description: Kept in the facts.
    type: int
  baseline:
    description: The topology whose speed-up is 1.
    type: str
    default: 1n1g
  rounding:
    description: Rule of P(round_as#filter) for average and median.
    type: str
    default: numpy_2
  speedup_rounding:
    description: Rule of P(round_as#filter) for the speed-up.
    type: str
    default: numpy_2
seealso:
  - plugin: speedups
    plugin_type: filter
  - plugin: speedup_table
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Facts of two topologies, five and six repeats
  ansible.builtin.debug:
    msg: "{{ runs | scaling_facts('r50', 128) }}"
  vars:
    runs:
      1n1g: [362.05, 362.28, 362.78, 362.43, 362.45]
      4n8g: {1: 9403.78, 2: 9574.57, 3: 9551.9, 4: 9477.39, 5: 9342.6, 6: 9631.24}
  # {'r50': {'1n1g': {'average_speed': 362.4, 'batch_size_per_device': 128, 'median_speed': 362.43,
  #   'speedup': 1.0}, '4n8g': {'average_speed': 9496.91, 'batch_size_per_device': 128,
  #   'median_speed': 9514.64, 'speedup': 26.25}}}
"""

RETURN = r"""
_value:
  description: From the model to the topology, in order, to the figures.
  type: dict
  sample:
    r50:
      1n8g: {average_speed: 2720.16, batch_size_per_device: 128, median_speed: 2721.98,
             speedup: null, speedup_reason: "no baseline: no speed of 1n1g"}
"""

from ansible_collections.scalebench.core.plugins.module_utils.results.scaling import seed_facts


class FilterModule:
    """The filter scaling_facts."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"scaling_facts": seed_facts}
