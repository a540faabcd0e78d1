#!/usr/bin/python
"""Read which PCI devices this node has; see node.drivers in module_utils."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pci_devices_info
short_description: Read which PCI devices this node has
description:
  - Reads sysfs, and so lists GPUs and network adapters that have no driver yet.
options:
  sysfs:
    description: Where sysfs is mounted.
    type: path
    default: /sys
attributes:
  check_mode:
    support: full
    description: Changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Read the PCI devices
  pci_devices_info:
  register: pci
"""

RETURN = r"""
devices:
  description: The devices in the order of the bus; empty if the node has no PCI bus.
  type: list
  elements: dict
  returned: always
  sample:
    - slot: "0000:3b:00.0"
      vendor: 10de
      device: 1db1
      device_class: "030200"
      driver: nvidia
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.drivers import pci_devices


def main() -> None:
    """Read the devices."""
    module = AnsibleModule(
        argument_spec={"sysfs": {"type": "path", "default": "/sys"}}, supports_check_mode=True
    )
    module.exit_json(changed=False, devices=pci_devices(sysfs=module.params["sysfs"]))


if __name__ == "__main__":
    main()
