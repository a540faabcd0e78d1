"""Door to MU table: rows to an aligned table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: text_table
version_added: 0.1.0
short_description: An aligned table as text from rows
description: Columns without text stand to the right, null is C(-). The text is valid Markdown.
positional: columns, decimals
options:
  _input:
    description: Mappings from column to value.
    type: list
    elements: dict
    required: true
  columns:
    description: The columns to show, in this order; by default those of the first row.
    type: list
    elements: str
  decimals:
    description: Decimals of floats; null for all their digits.
    type: int
    default: 2
"""

EXAMPLES = r"""
- name: Print rows as a table
  ansible.builtin.debug:
    msg: "{{ [{'node': 'node1', 'img/s': 24.1}] | text_table }}"
  # | node  | img/s |
  # | ----- | ----: |
  # | node1 | 24.10 |
"""

RETURN = r"""
_value:
  description: The lines of the table.
  type: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.layout.table import text_table


class FilterModule:
    """The filter text_table."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"text_table": text_table}
