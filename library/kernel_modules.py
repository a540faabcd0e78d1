#!/usr/bin/python
"""Load kernel modules that are not loaded."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_modules
short_description: Load kernel modules that are not loaded
description:
  - Calls C(modprobe) for each module that sysfs does not list. Never unloads one.
  - Compares those that it lists with the installed ones, by their C(srcversion).
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
stale:
  description: The modules that run in another build than the installed one.
  type: list
  elements: str
  returned: always
  sample: [mlx5_core]
"""

import os

from ansible.module_utils.basic import AnsibleModule


def _stale(module: AnsibleModule, folder: str) -> bool:
    """Return whether a loaded module is not the installed one; a build may have no srcversion."""
    rc, installed, _ = module.run_command(["modinfo", "-F", "srcversion", os.path.basename(folder)])
    loaded = ""
    if os.path.exists(os.path.join(folder, "srcversion")):
        with open(os.path.join(folder, "srcversion"), encoding="ascii") as file:
            loaded = file.read().strip()
    return rc == 0 and installed.strip() != loaded


def main() -> None:
    """Load what is missing."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "sysfs": {"type": "path", "default": "/sys"},
        },
        supports_check_mode=True,
    )
    names, loaded = module.params["names"], os.path.join(module.params["sysfs"], "module")
    missing = [name for name in names if not os.path.isdir(os.path.join(loaded, name))]
    present = [os.path.join(loaded, name) for name in names if name not in missing]
    stale = [os.path.basename(folder) for folder in present if _stale(module, folder)]
    for name in () if module.check_mode else missing:
        rc, stdout, stderr = module.run_command(["modprobe", name])
        if rc:
            reason = (stderr or stdout).strip()
            module.fail_json(msg=f"{name} cannot be loaded: {reason}", missing=missing, rc=rc)
    module.exit_json(changed=bool(missing), missing=missing, stale=stale)


if __name__ == "__main__":
    main()
