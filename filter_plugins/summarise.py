"""Door to MU statistics: centre and spread of repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: summarise
version_added: 0.1.0
short_description: Mean, median, spread and an interval of the median of a few repeats
description:
  - The spread between repeats. Nothing is rounded.
  - C(sd) is that of a sample (n - 1), C(cv) is sd / mean; both are null for one value.
  - It knows nothing of the spread within a run, whose observations depend on each other.
positional: level
options:
  _input:
    description: Numbers, as a list or as a mapping from repeat.
    type: raw
    required: true
  level:
    description: Level of the interval, between 0 and 1.
    type: float
    default: 0.95
seealso:
  - plugin: median_interval
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Fail where the repeats differ by more than 2 %
  ansible.builtin.assert:
    that: ([2737.81, 2718.0, 2715.18, 2696.33, 2727.71] | summarise).cv < 0.02
  # {'mean': 2719.006, 'median': 2718.0, 'n': 5, 'sd': 15.53…, 'cv': 0.00571…, 'minimum': 2696.33,
  #   'maximum': 2737.81, 'range': 41.48, 'interval': {'low': 2696.33, 'high': 2737.81, …}}
"""

RETURN = r"""
_value:
  description: mean, median, n, sd, cv, minimum, maximum, range, and interval, which is what
    P(median_interval#filter) gives.
  type: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import summarise


class FilterModule:
    """The filter summarise."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"summarise": summarise}
