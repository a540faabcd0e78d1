#!/usr/bin/python
"""Load kernel modules that are not loaded."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_modules
short_description: Load kernel modules that are not loaded
description:
  - Calls C(modprobe) for each module that sysfs does not list. Never unloads one.
options:
  names:
    description: The modules, as sysfs names them, in the order in which to load them.
    type: list
    elements: str
    required: true
  sysfs:
    description: Where sysfs is mounted.
    type: path
    default: /sys
attributes:
  check_mode:
    support: full
    description: Returns what it would load.
"""

EXAMPLES = r"""
- name: Load NVIDIA's modules
  kernel_modules:
    names: [nvidia, nvidia_uvm]
"""

RETURN = r"""
missing:
  description: The modules that were not loaded before.
  type: list
  elements: str
  returned: always
  sample: [nvidia_uvm]
"""

import os

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    """Load what is missing."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "sysfs": {"type": "path", "default": "/sys"},
        },
        supports_check_mode=True,
    )
    loaded = os.path.join(module.params["sysfs"], "module")
    missing = [
        name for name in module.params["names"] if not os.path.isdir(os.path.join(loaded, name))
    ]
    for name in () if module.check_mode else missing:
        rc, stdout, stderr = module.run_command(["modprobe", name])
        if rc:
            reason = (stderr or stdout).strip()
            module.fail_json(msg=f"{name} cannot be loaded: {reason}", missing=missing, rc=rc)
    module.exit_json(changed=bool(missing), missing=missing)


if __name__ == "__main__":
    main()
