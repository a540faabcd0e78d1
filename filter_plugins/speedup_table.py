"""Door to MU table: facts to the seeds' table as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: speedup_table
version_added: 0.1.0
short_description: The seeds' table as aligned text from facts
description: Columns node_num, gpu_num, samples/s and speedup; C(-) stands for what is missing.
positional: model
options:
  _input:
    description: What P(scaling_facts#filter) gives, or the part of it below one model.
    type: dict
    required: true
  model:
    description: The model to show; needed where the facts hold several.
    type: str
seealso:
  - plugin: text_table
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Print the table
  ansible.builtin.debug:
    msg: "{{ {'1n1g': [362.44], '4n8g': [9514.64]} | scaling_facts | speedup_table }}"
  # | node_num | gpu_num | samples/s | speedup |
  # | -------: | ------: | --------: | ------: |
  # |        1 |       1 |    362.44 |    1.00 |
  # |        4 |      32 |   9514.64 |   26.25 |
"""

RETURN = r"""
_value:
  description: The lines of the table, which is Markdown too.
  type: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.layout.table import speedup_table


class FilterModule:
    """The filter speedup_table."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"speedup_table": speedup_table}
