#!/usr/bin/python
"""Door to MU node.pci."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pci_devices_info
short_description: Read which PCI devices this node has
description:
  - Reads sysfs, and so sees GPUs and network adapters that have no driver yet.
options:
  vendor:
    description:
      - Only devices of this vendor, in four hexadecimal digits.
      - C(10de) is NVIDIA, C(15b3) Mellanox.
    type: str
    default: ""
  device_class:
    description:
      - Only devices whose class begins so.
      - C(03) are display controllers, as GPUs; C(02) network adapters.
    type: str
    default: ""
  sysfs:
    description: Where sysfs is mounted.
    type: path
    default: /sys
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Look for NVIDIA GPUs
  pci_devices_info:
    vendor: "10de"
    device_class: "03"
  register: gpus
"""

RETURN = r"""
devices:
  description: The devices in the order of the bus; empty where there is none.
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
    """Read and tell."""
    module = AnsibleModule(
        argument_spec={
            "vendor": {"type": "str", "default": ""},
            "device_class": {"type": "str", "default": ""},
            "sysfs": {"type": "path", "default": "/sys"},
        },
        supports_check_mode=True,
    )
    found = pci_devices(module.params["vendor"], module.params["sysfs"])
    wanted = module.params["device_class"]
    module.exit_json(
        devices=[device for device in found if device["device_class"].startswith(wanted)]
    )


if __name__ == "__main__":
    main()
