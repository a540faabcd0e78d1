"""Door to MU compare: measured cells against published figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: compare_published
version_added: 0.1.0
short_description: Compare measured cells with published figures where they can be compared
description:
  - For each cell gives every comparable published row; where there is none, the nearest ones with
    the reasons.
  - Decisive are framework, model, gpu, nodes, devices_per_node, precision, batch_size_per_device,
    xla, data_backend, data and image_size. One that differs makes the verdict C(not_comparable),
    one that a side does not state C(not_known). A ratio is given for C(comparable) ones alone.
  - The interval of the ratio knows the noise of the repeats; a published figure without its runs
    is taken to scatter as the measured ones do. C(beyond_noise) says whether it leaves 1 out.
  - The finding is C(equivalent) when the whole interval lies within the tolerance, C(faster) or
    C(slower) when it lies outside on one side, else C(undecided).
positional: published, waive
options:
  _input:
    description: One cell or a list of cells; the conditions, C(runs) in images/s, and
      C(throughput), by default their median.
    type: raw
    required: true
  published:
    description: Rows as P(published#lookup) or P(published_rows#filter) give them.
    type: list
    elements: dict
    required: true
  waive:
    description: Conditions whose difference is accepted; told in the result.
    type: list
    elements: str
    default: []
  tolerance:
    description: Half width of the margin of equivalence, as a share.
    type: float
    default: 0.05
  level:
    description: Level of the interval; 0.9 is two one-sided tests at 0.05.
    type: float
    default: 0.9
  nearest:
    description: How many rows to give for a cell without a comparable one.
    type: int
    default: 1
"""

EXAMPLES = r"""
- name: Compare a cell with everything published
  ansible.builtin.debug:
    msg: "{{ cell | compare_published(lookup('published')) }}"
  vars:
    cell:
      framework: tensorflow
      model: r50
      gpu: Tesla V100-SXM2-16GB
      topology: 1n8g
      precision: fp32
      batch_size_per_device: 128
      xla: false
      data_backend: dali
      data: real
      image_size: 224
      runs: [2706.1, 2711.4, 2702.8, 2698.3, 2715.0]
  # [{'cell': '1n8g', 'published': 'seed_000_tensorflow_ngc/fp32_b128_dali/1n8g',
  #   'verdict': 'comparable', 'ratio': 0.9942, 'finding': 'equivalent', 'why': 'interval …', …}]
"""

RETURN = r"""
_value:
  description: cell, published (id of the row), kind, verdict, differences, unknown, waived, told,
    why, measured_throughput, published_throughput, ratio, low, high, beyond_noise, finding,
    errata.
  type: list
  elements: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.published.compare import (
    compare_published,
)


class FilterModule:
    """The filter compare_published."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"compare_published": compare_published}
