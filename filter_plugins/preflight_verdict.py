"""Door to MU preflight.judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: preflight_verdict
short_description: Judge whether nodes are fit to be measured
description:
  - One row for each check and node, failures first, with what was found and what to do.
positional: _input, expected
options:
  _input:
    description:
      - By node, C(fingerprint) of M(node_fingerprint_facts) and what M(preflight_facts) returns.
    type: dict
    required: true
  expected:
    description:
      - C(gpus), C(gpu_model), C(driver), C(infiniband_ports), C(free_mib).
      - What is absent or empty is what most nodes have.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Judge the nodes
  ansible.builtin.debug:
    msg: "{{ seen | preflight_verdict({'gpus': 8}) }}"
"""

RETURN = r"""
_value:
  description: C(rows), C(verdict) (the worst), C(counts) and C(summary).
  type: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.preflight.judge import judge


class FilterModule:
    """The filter preflight_verdict."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"preflight_verdict": judge}
