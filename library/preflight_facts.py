#!/usr/bin/python
"""Door to MU node.fitness."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_facts
short_description: Read what the preflight asks a node beyond its fingerprint
description:
  - Reads the memory limit, the health and the users of the GPUs, the kernel's Xid errors, the
    clock, whether ssh reaches the other nodes, and what the framework's container sees.
  - The action plugin of the same name adds RV(clock_skew).
options:
  peers:
    description:
      - Nodes to reach by ssh, by name what O(ssh_config) knows them by.
      - None are tried where it is empty.
    type: dict
    default: {}
  ssh_config:
    description: The ssh client's configuration on the node.
    type: path
    default: ""
  container:
    description: Name of the framework's container; empty where there is none.
    type: str
    default: ""
  engine:
    description: The container engine's program.
    type: str
    default: docker
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Read how fit the node is
  preflight_facts:
    peers: {node2: node2}
    ssh_config: /var/tmp/scalebench/sshd/ssh_config
  register: fitness
"""

RETURN = r"""
memlock_kib:
  description: What a session may lock, in KiB; -1 for all it likes.
  type: int
  returned: success
  sample: -1
gpu_health:
  description:
    - Uncorrected memory errors of each GPU since the driver's start, and whether a repair waits for
      a reset.
  type: list
  elements: dict
  returned: success
  sample: [{index: 0, ecc_uncorrected: 0, repair_pending: false}]
gpu_processes:
  description: Processes that compute on a GPU, as C(<pid> <name>).
  type: list
  elements: str
  returned: success
  sample: []
xid:
  description: Xid errors in the kernel's log since the start; null where it cannot be read.
  type: list
  elements: int
  returned: success
  sample: []
peers:
  description: For each peer why ssh does not reach it, empty where it does; null without peers.
  type: dict
  returned: success
  sample: {node2: ""}
image:
  description: Id of the container's image; null without one.
  type: str
  returned: success
  sample: sha256:0123
container_infiniband:
  description: RDMA devices that the container can open; null without one.
  type: list
  elements: str
  returned: success
  sample: [mlx5_0]
clock:
  description: The node's clock, seconds since 1970.
  type: float
  returned: success
  sample: 1790000000.0
clock_skew:
  description:
    - The least and the most by which the node's clock may be ahead of the controller's, in seconds.
  type: list
  elements: float
  returned: success
  sample: [-0.12, 0.03]
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node import fitness


def main() -> None:
    """Read and tell."""
    module = AnsibleModule(
        argument_spec={
            "peers": {"type": "dict", "default": {}},
            "ssh_config": {"type": "path", "default": ""},
            "container": {"type": "str", "default": ""},
            "engine": {"type": "str", "default": "docker"},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        inside = (
            fitness.container(given["engine"], given["container"]) if given["container"] else {}
        )
        module.exit_json(
            memlock_kib=fitness.memlock_kib(),
            gpu_health=fitness.gpu_health(),
            gpu_processes=fitness.gpu_processes(),
            xid=fitness.xid_codes(),
            peers=fitness.reach(given["peers"], given["ssh_config"]) if given["peers"] else None,
            image=inside.get("image"),
            container_infiniband=inside.get("devices"),
            clock=time.time(),
        )
    except ValueError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
