#!/usr/bin/python
"""Door to MU node.interpreters."""

from __future__ import annotations

DOCUMENTATION = r"""
module: python_interpreter_info
short_description: Find a Python of a given version on this node
description:
  - Looks for C(pythonX.Y) on the PATH, then in pyenv's and in uv's folders; takes the first version
    that is there and can make a virtual environment. Where none is, it says what it looked at.
options:
  versions:
    description: The versions that would do, the preferred one first.
    type: list
    elements: str
    required: true
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Find a Python for the framework
  python_interpreter_info:
    versions: ["3.11", "3.12"]
  register: python
"""

RETURN = r"""
path:
  description: The interpreter; null where there is none.
  type: str
  returned: always
  sample: /usr/bin/python3.11
version:
  description: Which of the versions it is.
  type: str
  returned: where there is one
  sample: "3.11"
platform:
  description: What compiled files are built for on this node.
  type: str
  returned: always
  sample: linux-x86_64-glibc2.36
reason:
  description: What is needed and what was looked at.
  type: str
  returned: where there is none
  sample: "needs Python 3.7 (looked at python3.7 on the PATH: not there)"
looked_at:
  description: What was looked at, with the reason where it would not do.
  type: list
  elements: str
  returned: always
  sample: ["python3.11 on the PATH: not there"]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.interpreters import (
    find,
    platform_tag,
)


def main() -> None:
    """Look and tell."""
    module = AnsibleModule(
        argument_spec={"versions": {"type": "list", "elements": "str", "required": True}},
        supports_check_mode=True,
    )
    found, looked_at = find(module.params["versions"])
    facts = {"changed": False, "platform": platform_tag(), "looked_at": looked_at}
    if found is None:
        wanted = " or ".join(module.params["versions"])
        reason = f"needs Python {wanted} (looked at {'; '.join(looked_at)})"
        module.exit_json(**facts, path=None, reason=reason)
    version, path = found
    module.exit_json(**facts, path=path, version=version)


if __name__ == "__main__":
    main()
