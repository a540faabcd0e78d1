#!/usr/bin/python
"""Read what runs on this node and would be disturbed by a change of its software."""

from __future__ import annotations

DOCUMENTATION = r"""
module: running_work_info
short_description: Read what runs on this node and would be disturbed by a change of its software
description:
  - Lists processes that have a GPU open, apart from the driver's own daemons, and running
    containers of any engine. Reads C(/proc) only, and asks neither the driver nor an engine, which
    may not answer. Only root sees the processes of other accounts.
options:
  gpu_devices:
    description: Pattern of the GPUs' device files.
    type: str
    default: /dev/nvidia[0-9]*
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Read what runs on the node
  running_work_info:
  register: work
"""

RETURN = r"""
gpu_users:
  description: Processes that have a GPU open.
  type: list
  elements: str
  returned: always
  sample: ["process 4242 (python train.py) on a GPU"]
containers:
  description: Running containers.
  type: list
  elements: str
  returned: always
  sample: ["container 3f2a9c01d77e"]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.work import (
    GPU_DEVICES,
    containers,
    gpu_users,
)


def main() -> None:
    """Read the processes."""
    module = AnsibleModule(
        argument_spec={"gpu_devices": {"type": "str", "default": GPU_DEVICES}},
        supports_check_mode=True,
    )
    module.exit_json(
        changed=False, gpu_users=gpu_users(module.params["gpu_devices"]), containers=containers()
    )


if __name__ == "__main__":
    main()
