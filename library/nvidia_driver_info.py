#!/usr/bin/python
"""Door to MU node.nvidia_driver."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nvidia_driver_info
short_description: Read which NVIDIA driver is installed and which one runs
description:
  - Asks neither the package manager nor the driver, so that a driver of any origin is found and one
    that hangs does no harm.
options:
  sysfs:
    description: Where sysfs is mounted.
    type: path
    default: /sys
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
seealso:
  - module: pci_devices_info
"""

EXAMPLES = r"""
- name: Look at the driver
  nvidia_driver_info:
  register: driver
"""

RETURN = r"""
driver_installed:
  description: Version of the driver's libraries; null without any.
  type: str
  returned: always
  sample: 580.159.04
driver_loaded:
  description: Version of the kernel module that runs; null without one.
  type: str
  returned: always
  sample: 580.159.04
nouveau_loaded:
  description: Whether nouveau runs.
  type: bool
  returned: always
  sample: false
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.drivers import driver


def main() -> None:
    """Read and tell."""
    module = AnsibleModule(
        argument_spec={"sysfs": {"type": "path", "default": "/sys"}}, supports_check_mode=True
    )
    module.exit_json(changed=False, **driver(module.params["sysfs"]))


if __name__ == "__main__":
    main()
