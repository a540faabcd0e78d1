"""Door to MU log_text: the text of a training log as one throughput and what stands beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: training_log_facts
version_added: 0.1.0
short_description: One throughput out of the text of a training log
description:
  - The filter version of the module M(training_log_facts), for a log that is at hand as text.
positional: strategy, parameters
options:
  _input:
    description: The text of the log, with its line ends.
    type: str
    required: true
  strategy:
    description: Rule from observations to one throughput; V(auto) is the usual one of the format.
    type: str
    default: mean_after_warmup
  parameters:
    description: Parameters of the strategy.
    type: dict
  reader:
    description: Format of the log; V(auto) recognises it from the text.
    type: str
    default: auto
  expect:
    description: Identity that the log must not contradict.
    type: dict
  target_accuracy:
    description: Top-1 accuracy in percent that C(time_to_train) looks for.
    type: float
  name:
    description: What messages call the log.
    type: str
    default: log
seealso:
  - module: training_log_facts
  - plugin: training_log
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Fail where a run is slower than it was
  ansible.builtin.assert:
    that: (log | training_log_facts('median', rule)).throughput > 2700
  vars:
    rule: {warmup: 20}
    log: "{{ lookup('ansible.builtin.file', 'r50_b128_fp32_1.log', rstrip=false) }}"
"""

RETURN = r"""
_value:
  description: The facts of the log, as the module returns them.
  type: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.facts.log_text import facts_of_text


class FilterModule:
    """The filter training_log_facts."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"training_log_facts": facts_of_text}
