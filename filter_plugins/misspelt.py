"""Door to MU options.misspelt."""

from __future__ import annotations

DOCUMENTATION = r"""
name: misspelt
short_description: Which variables look misspelt, and what was probably meant
description:
  - One sentence for each name that is no option of the matrix and not known but looks like one that
    is.
positional: _input, known
options:
  _input:
    description: The variables, as P(extra_variables#lookup) gives them, or their names.
    type: raw
    required: true
  known:
    description: Names that something reads beside the options of the matrix.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Refuse -e basline=monday
  ansible.builtin.assert:
    that: wrong | length == 0
    fail_msg: "{{ wrong | join(' ') }}"
  vars:
    wrong: "{{ lookup('extra_variables') | misspelt(['baseline', 'campaign']) }}"
"""

RETURN = r"""
_value:
  description: The sentences; none where no name looks misspelt.
  type: list
  elements: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.planning.options import misspelt


class FilterModule:
    """Registers the pure function."""

    def filters(self) -> dict:
        """Return the filter by name."""
        return {"misspelt": misspelt}
