"""Look up who runs ansible-playbook, and where."""

from __future__ import annotations

DOCUMENTATION = r"""
name: controller
short_description: Return the account and the host name of this ansible-playbook, and what it may do
description:
  - What C(id -un) and C(uname -n) print. Programs would be started for every use of a default that
    needs them.
options:
  _terms:
    description:
      - What to return, of V(account), V(user), the account or its number where it has no name,
        V(host) and V(writes), whether the account can create files in the folder O(path), or that
        folder.
    type: list
    elements: str
    required: true
  path:
    description: A path, which may begin with C(~) or a variable of the environment.
    type: path
"""

EXAMPLES = r"""
- name: Show who runs this playbook
  ansible.builtin.debug:
    msg: "{{ lookup('controller', 'account') }} on {{ lookup('controller', 'host') }}"

- name: Fail where nothing can be kept
  ansible.builtin.assert:
    that: lookup('controller', 'writes', path='/srv/state')
"""

RETURN = r"""
_raw:
  description: The names, and for V(writes) a boolean.
  type: list
  elements: raw
"""

import os

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible_collections.scalebench.core.plugins.module_utils.node.account import own_name


class LookupModule(LookupBase):
    """Implements lookup controller."""

    def run(self, terms, variables=None, **kwargs):
        """Return the names."""
        known = {
            "account": account,
            "user": user,
            "host": host,
            "writes": lambda: writes(kwargs["path"]),
        }
        return [known[term]() for term in terms]


def account() -> str:
    """Return the name of the account that runs this process."""
    name = own_name()
    if name is None:
        raise AnsibleLookupError(f"{user()} of this machine has no name: add it to /etc/passwd")
    return name


def user() -> str:
    """Return who runs this process, for a message."""
    return own_name() or f"user {os.geteuid()}"


def host() -> str:
    """Return the name of this machine."""
    return os.uname().nodename


def writes(path: str) -> bool:
    """Return whether this process can create files there; in the first parent that is there."""
    path = os.path.abspath(os.path.expanduser(os.path.expandvars(path)))
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK, effective_ids=True)
