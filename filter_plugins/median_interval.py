"""Door to MU statistics: interval of the median of repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: median_interval
version_added: 0.1.0
short_description: An interval of the median of a few repeats
description:
  - C(bootstrap) is the percentile bootstrap in the limit of endless resamples, computed exactly,
    so it has no seed and is the same each time.
  - C(order) is the narrowest interval between the k-th lowest and the k-th highest value whose
    coverage, whatever the distribution, reaches the level; it adds C(coverage). A level of 0.95
    needs six values, 0.9 five.
  - Where there is none, C(low) and C(high) are null and C(reason) says why. For repeats, at most
    200 of them, not for the observations within a run.
positional: level, method
options:
  _input:
    description: Numbers, as a list or as a mapping from repeat.
    type: raw
    required: true
  level:
    description: Level of the interval, between 0 and 1.
    type: float
    default: 0.95
  method:
    description: How the interval is found.
    type: str
    choices: [bootstrap, order]
    default: bootstrap
"""

EXAMPLES = r"""
- name: Interval of the median of six runs
  ansible.builtin.debug:
    msg: "{{ [9403.78, 9574.57, 9551.9, 9477.39, 9342.6, 9631.24] | median_interval }}"
  # {'low': 9373.19, 'high': 9602.905, 'level': 0.95, 'n': 6, 'reason': '', 'method': 'bootstrap'}

- name: The same with a guaranteed coverage
  ansible.builtin.debug:
    msg: "{{ [354.32, 354.71, 353.04, 352.08, 352.07, 352.39] | median_interval(0.95, 'order') }}"
  # {'low': 352.07, 'high': 354.71, …, 'coverage': 0.96875, 'method': 'order'}
"""

RETURN = r"""
_value:
  description: low, high, level, n, reason, method, and coverage with the method C(order).
  type: dict
  sample: {low: 9373.19, high: 9602.905, level: 0.95, n: 6, reason: "", method: bootstrap}
"""

from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import (
    median_interval,
)


class FilterModule:
    """The filter median_interval."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"median_interval": median_interval}
