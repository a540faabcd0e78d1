#!/usr/bin/python
"""Read which NVIDIA driver is installed and which one is loaded."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nvidia_driver_info
short_description: Read which NVIDIA driver is installed and which one is loaded
description:
  - Reads files only and asks neither the package manager nor the driver, so it finds a driver of
    any origin and does not wait for one that hangs.
options:
  sysfs:
    description: Where sysfs is mounted.
    type: path
    default: /sys
attributes:
  check_mode:
    support: full
    description: Changes nothing in any mode.
seealso:
  - module: pci_devices_info
"""

EXAMPLES = r"""
- name: Read the driver
  nvidia_driver_info:
  register: driver
"""

RETURN = r"""
driver_installed:
  description: Version of the driver's libraries; null if there are none.
  type: str
  returned: always
  sample: 580.159.04
driver_loaded:
  description: Version of the loaded kernel module; null if none is loaded.
  type: str
  returned: always
  sample: 580.159.04
nouveau_loaded:
  description: Whether nouveau is loaded.
  type: bool
  returned: always
  sample: false
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.drivers import driver


def main() -> None:
    """Read the versions."""
    module = AnsibleModule(
        argument_spec={"sysfs": {"type": "path", "default": "/sys"}}, supports_check_mode=True
    )
    module.exit_json(changed=False, **driver(module.params["sysfs"]))


if __name__ == "__main__":
    main()
