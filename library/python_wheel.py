#!/usr/bin/python
"""Door to MU node.wheel_build."""

from __future__ import annotations

DOCUMENTATION = r"""
module: python_wheel
short_description: Build a Python package from source into a wheel
description:
  - Builds against the packages that the interpreter has, without its dependencies, for packages
    that compile against another one, as Horovod does against a framework.
  - A wheel that is in the folder already is kept. Everything that was started is ended when the
    controller ends its connection.
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
    description: Settings of the build.
    type: dict
    default: {}
  folder:
    description: Where the wheel is put, and the build's output as C(build.log).
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Tells whether it would build.
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
  description: The wheel.
  type: str
  returned: except in check mode where it would be built
  sample: /opt/venvs/tensorflow/wheels/horovod-0.28.1-cp311-cp311-linux_x86_64.whl
"""

import glob
import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.wheel_build import build_wheel


def main() -> None:
    """Build where no wheel is there."""
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
    there = glob.glob(os.path.join(glob.escape(wanted["folder"]), "*.whl"))
    if there:
        module.exit_json(changed=False, path=there[0])
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
