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
  cuda_devices:
    description:
      - Number of GPUs that CUDA is expected to find. If set, the driver is asked too, with cuInit
        and cuDeviceGetCount, at most a minute. nvidia-smi succeeds where these fail, for example
        without the fabric manager.
    type: int
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
driver_runfile:
  description: Whether the driver is from NVIDIA's .run file.
  type: bool
  returned: always
  sample: false
nouveau_loaded:
  description: Whether nouveau is loaded.
  type: bool
  returned: always
  sample: false
cuda_problem:
  description: Why CUDA cannot use the GPUs and what to do; empty if it can.
  type: str
  returned: with O(cuda_devices)
  sample: "cuInit returned 802 system not ready: start nvidia-fabricmanager"
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.drivers import cuda_state, driver
from ansible_collections.scalebench.core.plugins.module_utils.preflight.gpu_checks import (
    cuda_problem,
)


def main() -> None:
    """Read the versions."""
    module = AnsibleModule(
        argument_spec={
            "sysfs": {"type": "path", "default": "/sys"},
            "cuda_devices": {"type": "int"},
        },
        supports_check_mode=True,
    )
    facts = driver(module.params["sysfs"])
    if module.params["cuda_devices"] is not None:
        words = cuda_problem(cuda_state(), module.params["cuda_devices"])
        facts["cuda_problem"] = ": ".join(word for word in words if word)
    module.exit_json(changed=False, **facts)


if __name__ == "__main__":
    main()
