#!/usr/bin/python
"""Door to MU node.interpreters."""

from __future__ import annotations

DOCUMENTATION = r"""
module: python_interpreter_info
short_description: Find a Python of a given version on this node
description:
  - Looks for C(pythonX.Y) on the PATH, then in pyenv's and in uv's folders; takes the first version
    that is there and can make a virtual environment.
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
  description: The interpreter.
  type: str
  returned: success
  sample: /usr/bin/python3.11
version:
  description: Which of the versions it is.
  type: str
  returned: success
  sample: "3.11"
looked_at:
  description: What was looked at, with the reason where it would not do.
  type: list
  elements: str
  returned: always
  sample: ["python3.11 on PATH: not there"]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.interpreters import find


def main() -> None:
    """Look and tell."""
    module = AnsibleModule(
        argument_spec={"versions": {"type": "list", "elements": "str", "required": True}},
        supports_check_mode=True,
    )
    found, looked_at = find(module.params["versions"])
    if found is None:
        versions = " or ".join(module.params["versions"])
        module.fail_json(
            msg=f"no Python {versions} that can make virtual environments; looked at:"
            f" {'; '.join(looked_at)}. Install python{module.params['versions'][0]} and its venv"
            " package, or give an interpreter that has the framework with -e framework_python=",
            looked_at=looked_at,
        )
    version, path = found
    module.exit_json(changed=False, path=path, version=version, looked_at=looked_at)


if __name__ == "__main__":
    main()
