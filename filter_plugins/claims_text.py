"""Door to MU claims_text: the outcome of a check of claims as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: claims_text
version_added: 0.1.0
short_description: A table of claimed, recomputed, difference, verdict and rule
description: What M(published_claims_info) returns, as lines to print; figures with all digits.
options:
  _input:
    description: What M(published_claims_info) returned, or a list of that.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Print what was verified
  ansible.builtin.debug:
    msg: "{{ verified | claims_text }}"
  # DLPerf, TensorFlow 2.3
  #
  # | claim | claimed | recomputed | difference | verdict   | rule           |
  # | ----- | ------: | ---------: | ---------: | --------- | -------------- |
  # | 1n8g  | 2458.74 |    2458.74 |        0.0 | confirmed | dlperf_tf2, …  |
"""

RETURN = r"""
_value:
  description: Title, table, the reasons and notes, and the number of each verdict.
  type: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.published.claims_text import (
    claims_text,
)


class FilterModule:
    """The filter claims_text."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"claims_text": claims_text}
