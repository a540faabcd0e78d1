"""Door to the variables that were given on the command line."""

from __future__ import annotations

DOCUMENTATION = r"""
name: extra_variables
short_description: The variables given with -e, and no others
description:
  - Returns one dictionary with the names and values of all extra variables, so that a role can tell
    a misspelt option from a variable of the inventory.
options: {}
"""

EXAMPLES = r"""
- name: Show what was given with -e
  ansible.builtin.debug:
    msg: "{{ lookup('extra_variables') }}"
"""

RETURN = r"""
_raw:
  description: One dictionary.
  type: list
  elements: dict
"""

from ansible.plugins.lookup import LookupBase
from ansible.utils.vars import load_extra_vars


class LookupModule(LookupBase):
    """Reads -e as Ansible itself does: key=value, YAML, JSON or @file."""

    def run(self, terms, variables=None, **kwargs):
        """Return the one dictionary."""
        return [dict(load_extra_vars(self._loader))]
