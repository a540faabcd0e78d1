"""Look up the variables given with -e."""

from __future__ import annotations

DOCUMENTATION = r"""
name: extra_variables
short_description: Return the extra variables, those given with -e
description:
  - Returns the names and values of all extra variables. Unlike C(vars) it has no variables of the
    inventory, so a role can find misspelt options in it.
options: {}
"""

EXAMPLES = r"""
- name: Show the extra variables
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
    """Implements lookup extra_variables; reads -e in all forms that Ansible knows."""

    def run(self, terms, variables=None, **kwargs):
        """Return a list that contains the dictionary."""
        return [dict(load_extra_vars(self._loader))]
