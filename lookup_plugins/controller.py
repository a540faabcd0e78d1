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
import pwd

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    """Implements lookup controller."""

    def run(self, terms, variables=None, **kwargs):
        """Return the names."""
        return [{"account": account, "host": host}[term]() for term in terms]


def account() -> str:
    """Return the name of the account that runs this process."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise AnsibleLookupError(
            f"user {os.geteuid()} of this machine has no name: add it to /etc/passwd"
        ) from None


def host() -> str:
    """Return the name of this machine."""
    return os.uname().nodename
