#!/usr/bin/python
"""Find a Python of a given version on this node; see node.interpreters in module_utils."""

from __future__ import annotations

DOCUMENTATION = r"""
module: python_interpreter_info
short_description: Find a Python of a given version on this node
description:
  - Searches C(pythonX.Y) on the PATH, then in the folders of pyenv and uv, for the first version
    that can create a virtual environment.
  - In check mode also one without C(ensurepip), if there is no other. Its package (C(python3-venv)
    on Debian) is one of those that check mode only announces.
options:
  versions:
    description: Suitable versions, the preferred one first.
    type: list
    elements: str
    required: true
  machines:
    description:
      - Machines that the packages for it are built for, as uname -m names them.
      - An empty list stands for all.
    type: list
    elements: str
    default: []
  environment:
    description: Folder of a virtual environment, there or not, whose packages are looked at.
    type: path
  requirements:
    description: What is to be installed into it, as pip takes it.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Find a Python for the framework
  python_interpreter_info:
    versions: ["3.11", "3.12"]
  register: python
"""

RETURN = r"""
path:
  description: Path of the interpreter; null if there is none.
  type: str
  returned: always
  sample: /usr/bin/python3.11
version:
  description: Its version.
  type: str
  returned: if there is one
  sample: "3.11"
platform:
  description: Platform of compiled files on this node, with the C library.
  type: str
  returned: always
  sample: linux-x86_64-glibc2.36
filled:
  description: A digest of C(requirements) and the packages in C(environment), or null.
  type: str
  returned: if C(environment) is given
is_filled:
  description: Whether the file C(filled) in the environment has this digest.
  type: bool
  returned: if C(environment) is given
reason:
  description: The machines or versions needed, and why each interpreter tried is unsuitable.
  type: str
  returned: if there is none
  sample: "needs Python 3.7 (looked at python3.7 on the PATH: not there)"
"""

import contextlib
import platform
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.interpreters import (
    filled,
    find,
    platform_tag,
    wrong_machine,
)


def main() -> None:
    """Find the interpreter."""
    module = AnsibleModule(
        argument_spec={
            "versions": {"type": "list", "elements": "str", "required": True},
            "machines": {"type": "list", "elements": "str", "default": []},
            "environment": {"type": "path"},
            "requirements": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    facts = {"changed": False, "platform": platform_tag()}
    environment = module.params["environment"]
    if environment:
        digest, recorded = filled(environment, module.params["requirements"]), None
        with contextlib.suppress(OSError, ValueError):
            recorded = Path(environment, "filled").read_text(encoding="ascii").strip()
        facts.update(filled=digest, is_filled=digest is not None and digest == recorded)
    reason = wrong_machine(module.params["machines"], platform.machine())
    if reason:
        module.exit_json(**facts, path=None, reason=reason)
    interpreter, looked_at = find(module.params["versions"])
    if interpreter is None and module.check_mode:
        interpreter, looked_at = find(module.params["versions"], needed="venv")
    if interpreter is None:
        wanted = " or ".join(module.params["versions"])
        reason = f"needs Python {wanted} (looked at {'; '.join(looked_at)})"
        module.exit_json(**facts, path=None, reason=reason)
    version, path = interpreter
    module.exit_json(**facts, path=path, version=version)


if __name__ == "__main__":
    main()
