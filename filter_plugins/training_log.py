"""Door to MU log_text: the text of a training log as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: training_log
version_added: 0.1.0
short_description: Read the text of a training log
description:
  - Turns the log of a training run, in any format that Scalebench knows, into data.
  - Rank prefixes, times, progress bars and colours are taken away.
  - To have one throughput of a file, use the module M(training_log_facts).
positional: reader
options:
  _input:
    description: The text of the log, with its line ends.
    type: str
    required: true
  reader:
    description: Format of the log; V(auto) recognises it from the text.
    type: str
    default: auto
  name:
    description: What messages call the log.
    type: str
    default: log
seealso:
  - plugin: training_log_facts
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the losses of a run
  ansible.builtin.debug:
    msg: "{{ (log | training_log).observations | map(attribute='loss') }}"
  vars:
    log: "{{ lookup('ansible.builtin.file', 'r50_b4_fp32_1.log', rstrip=false) }}"
"""

RETURN = r"""
_value:
  description:
    - reader, identity (what the log says of its own run), ending (kind and detail), unit, scope,
      observations, summary (what the log itself sums up) and runs.
    - An observation has step, epoch, rank, timestamp, throughput, scope, loss, accuracy, memory and
      seconds; what is not printed is null.
  type: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.facts.log_text import reading_of_text


class FilterModule:
    """The filter training_log."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"training_log": reading_of_text}
