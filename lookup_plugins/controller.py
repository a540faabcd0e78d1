"""Look up who runs ansible-playbook, and where."""

from __future__ import annotations

DOCUMENTATION = r"""
name: controller
short_description: Return the account and the host name of this ansible-playbook
description:
  - What C(id -un) and C(uname -n) print. Programs would be started for every use of a default that
    needs them.
options:
  _terms:
    description: What to return, of V(account) and V(host).
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show who runs this playbook
  ansible.builtin.debug:
    msg: "{{ lookup('controller', 'account') }} on {{ lookup('controller', 'host') }}"
"""

RETURN = r"""
_raw:
  description: The names.
  type: list
  elements: str
"""

import os

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible_collections.scalebench.core.plugins.module_utils.node.account import own_name


class LookupModule(LookupBase):
    """Implements lookup controller."""

    def run(self, terms, variables=None, **kwargs):
        """Return the names."""
        return [{"account": account, "host": host}[term]() for term in terms]


def account() -> str:
    """Return the name of the account that runs this process."""
    name = own_name()
    if name is None:
        raise AnsibleLookupError(
            f"user {os.geteuid()} of this machine has no name: add it to /etc/passwd"
        )
    return name


def host() -> str:
    """Return the name of this machine."""
    return os.uname().nodename
