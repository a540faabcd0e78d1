"""Look up variables whose value has another type than the roles take."""

from __future__ import annotations

DOCUMENTATION = r"""
name: unfit_variables
short_description: Return what is wrong with the types of variables
description:
  - Returns a sentence for each variable of a role or of the inventory whose value, in the inventory
    or given with -e, is no list, mapping or text where the role takes one, and names the hosts.
    Ansible's own check of a role's arguments accepts what it can convert, and leaves it as it is.
options:
  _terms:
    description: Hosts whose variables are read.
    required: true
  known:
    description: Names that the playbook reads, beside the variables of roles.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Fail with a variable of a wrong type
  ansible.builtin.assert:
    that: wrong | length == 0
    fail_msg: "{{ wrong | join('\\n') }}"
  vars:
    wrong: "{{ query('unfit_variables', *ansible_play_hosts) }}"
"""

RETURN = r"""
_raw:
  description: The sentences.
  type: list
  elements: str
"""

from collections.abc import Mapping

from ansible.parsing.vault import EncryptedString
from ansible.plugins.lookup import LookupBase
from ansible_collections.scalebench.core.plugins.module_utils.planning.variable_types import (
    unfit_variables,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.given_options import declared_types


class LookupModule(LookupBase):
    """Implements lookup unfit_variables."""

    def run(self, terms, variables=None, **kwargs):
        """Return the sentences."""
        self.set_options(var_options=variables, direct=kwargs)
        # Not as items, which are templated.
        nodes = {host: _decrypted(variables["hostvars"].raw_get(host)) for host in terms}
        return unfit_variables(nodes, declared_types(self.get_option("known")))


def _decrypted(value):
    """Return a value without vaults. Braces of theirs are no templates for Ansible, nor here."""
    if isinstance(value, EncryptedString):
        return str(value).replace("{", "(")
    if isinstance(value, Mapping):
        return {key: _decrypted(one) for key, one in value.items()}
    return [_decrypted(one) for one in value] if isinstance(value, list) else value
