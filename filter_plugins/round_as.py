"""Door to MU rounding: round a number as a published report did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: round_as
version_added: 0.1.0
short_description: Round a number by a named rule
description:
  - Published figures were rounded in different ways; each rule has a name here.
  - C(numpy_N) scales, rounds half to even and scales back, as numpy does; C(numpy_2) gives every
    median that the seeds print. C(python_N) rounds the exact binary value. C(truncate_N) cuts
    decimals off. C(gN) keeps N significant digits. C(none) keeps all.
positional: rounding
options:
  _input:
    description: A finite number.
    type: float
    required: true
  rounding:
    description: The name of the rule.
    type: str
    default: numpy_2
    choices: [none, numpy_0, numpy_1, numpy_2, numpy_3, numpy_4, python_1, python_2, python_3,
              python_4, truncate_0, truncate_2, truncate_3, g4, g5, g6]
"""

EXAMPLES = r"""
- name: Round the median of six runs as the seeds did
  ansible.builtin.debug:
    msg: "{{ 352.715 | round_as }} {{ 352.715 | round_as('python_2') }}"
  # 352.72 352.71

- name: Cut the mean of a TensorFlow log to three decimals
  ansible.builtin.debug:
    msg: "{{ 7601.889 | round_as('truncate_3') }} {{ 1411.96 | round_as('g4') }}"
  # 7601.889 1412.0
"""

RETURN = r"""
_value:
  description: The rounded number.
  type: float
  sample: 352.72
"""

from ansible_collections.scalebench.core.plugins.module_utils.stats.rounding import round_as


class FilterModule:
    """The filter round_as."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"round_as": round_as}
