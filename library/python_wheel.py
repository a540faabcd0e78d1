#!/usr/bin/python
"""Build a Python package from source into a wheel; see node.wheel_build in module_utils."""

from __future__ import annotations

DOCUMENTATION = r"""
module: python_wheel
short_description: Build a Python package from source into a wheel
description:
  - Builds against the installed packages of the interpreter and without dependencies, for packages
    that compile against another one, as Horovod does against a framework.
  - A wheel in the folder is kept and not built again. When the controller closes the connection,
    all processes of the build are ended.
options:
  python:
    description: The interpreter to build with; it needs pip, setuptools and wheel.
    type: path
    required: true
  requirement:
    description: The package with its exact version.
    type: str
    required: true
  environment:
    description: Environment variables of the build.
    type: dict
    default: {}
  folder:
    description: Folder for the wheel and for C(build.log), the output of the build.
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Returns whether it would build.
"""

EXAMPLES = r"""
- name: Build Horovod for the TensorFlow of an environment
  python_wheel:
    python: /opt/venvs/tensorflow/bin/python
    requirement: horovod==0.28.1
    environment: {HOROVOD_WITH_TENSORFLOW: "1", HOROVOD_WITHOUT_GLOO: "1"}
    folder: /opt/venvs/tensorflow/wheels
"""

RETURN = r"""
path:
  description: Path of the wheel.
  type: str
  returned: unless check mode would build it
  sample: /opt/venvs/tensorflow/wheels/horovod-0.28.1-cp311-cp311-linux_x86_64.whl
"""

import glob
import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.wheel_build import build_wheel


def main() -> None:
    """Build the wheel unless there is one."""
    module = AnsibleModule(
        argument_spec={
            "python": {"type": "path", "required": True},
            "requirement": {"type": "str", "required": True},
            "environment": {"type": "dict", "default": {}},
            "folder": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    wheels = glob.glob(os.path.join(glob.escape(wanted["folder"]), "*.whl"))
    if wheels:
        module.exit_json(changed=False, path=wheels[0])
    if module.check_mode:
        module.exit_json(changed=True)
    environment = {key: str(value) for key, value in wanted["environment"].items()}
    try:
        path = build_wheel(wanted["python"], wanted["requirement"], environment, wanted["folder"])
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=True, path=path)


if __name__ == "__main__":
    main()
