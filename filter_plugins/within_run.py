"""Door to MU within_run: how well the mean of one run is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: within_run
version_added: 0.1.0
short_description: The error of the mean of one run, its own memory taken into account
description:
  - Successive throughputs depend on each other, so sd / sqrt(n) is too small. The error here has
    the autocorrelation time in it (Geyer 1992; batch means above 5000 values).
  - It says nothing of the difference between repeats; that is P(summarise#filter).
options:
  _input:
    description: Throughputs in the order of time.
    type: list
    elements: float
    required: true
seealso:
  - plugin: steady_state
    plugin_type: filter
  - plugin: summarise
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Fail where one run does not know its own mean to 1 %
  ansible.builtin.assert:
    that: (speeds | within_run).relative_error < 0.01
  vars:
    speeds: "{{ (log | training_log).observations | map(attribute='throughput') }}"
"""

RETURN = r"""
_value:
  description: count, mean, sd, cv, autocorrelation_time (in observations), effective_count,
    standard_error and relative_error; what cannot be known is null.
  type: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.facts.within_run import within_run


class FilterModule:
    """The filter within_run."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"within_run": within_run}
