"""Door to MU dataset.agreement: what nodes have of a data set, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: dataset_agreement
version_added: 0.1.0
short_description: Data sets of several nodes as a table, and what is wrong with them
description: A form that is complete on several nodes must have the same digest on all of them.
positional: wanted
options:
  _input:
    description: By node, what module M(dataset_info) returned as C(forms).
    type: dict
    required: true
  wanted:
    description: Forms that every node must have.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Compare two nodes
  ansible.builtin.debug:
    msg: "{{ (told | dataset_agreement(['tfrecord'])).problems }}"
  vars:
    told: {node1: "{{ one.forms }}", node2: "{{ two.forms }}"}
"""

RETURN = r"""
_value:
  description:
    - C(rows), one a node and form, for P(text_table#filter), and C(problems), sentences.
  type: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.dataset.agreement import agreement


class FilterModule:
    """The filter dataset_agreement."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"dataset_agreement": agreement}
