#!/usr/bin/python
"""Reads the state of a node that the preflight checks."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_facts
short_description: Read the state of a node that the preflight checks
description:
  - Reads the limit of locked memory, addresses and routes, health and processes of the GPUs, Xid
    errors of the kernel, the clock, whether ssh reaches the other nodes, and the RDMA devices of
    the containers.
  - The result complements that of M(node_fingerprint_facts).
  - The action plugin of the same name adds RV(clock_skew).
options:
  nodes:
    description:
      - All nodes of the cluster by their names in O(ssh_config), to be reached by ssh; in the same
        order on each node.
    type: list
    elements: str
    default: []
  node:
    description: The name of this node among O(nodes).
    type: str
    default: ""
  ssh_config:
    description: Configuration file of the ssh client on the node.
    type: path
    default: ""
  containers:
    description: Names of the containers that ranks will run in.
    type: list
    elements: str
    default: []
  engine:
    description: Command of the container engine.
    type: str
    default: docker
  work_dir:
    description: The folder of the runs on the node; empty for none.
    type: path
    default: ""
  gpus:
    description: Whether to examine the GPUs.
    type: bool
    default: true
  gpu_ids:
    description: The GPUs that may be used, as numbers with commas between them, or C(all).
    type: str
    default: all
attributes:
  check_mode:
    support: full
    description: Changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Read the state of the node
  preflight_facts:
    nodes: [node1, node2]
    node: node1
    ssh_config: /var/tmp/scalebench/sshd/ssh_config
  register: fitness
"""

RETURN = r"""
memlock_kib:
  description: Limit of locked memory of a session, in KiB; -1 for unlimited.
  type: int
  returned: success
  sample: -1
writable:
  description: Whether O(work_dir) can be written to, if it is there.
  type: bool
  returned: success
  sample: true
addresses:
  description: The first IPv4 address of each interface that has one.
  type: dict
  returned: success
  sample: {eth0: 10.11.0.2, lo: 127.0.0.1}
routes:
  description: The IPv4 routes of the main table; one that refuses has no interface.
  type: list
  elements: dict
  returned: success
  sample:
    - {interface: eth0, network: 10.11.0.0/16, metric: 0}
gpu_health:
  description:
    - Of each GPU C(ecc_uncorrected), the uncorrected memory errors since the driver was loaded,
      C(repair_pending) until a reset, C(repair_failed), C(mig) (Enabled or Disabled) and C(fabric)
      (the state of NVSwitch); null where the GPU or its driver does not report it.
  type: list
  elements: dict
  returned: success
  sample:
    - index: 0
      ecc_uncorrected: 0
      repair_pending: false
      repair_failed: false
      mig: Disabled
      fabric: Completed, Success
cuda:
  description:
    - C(code), the CUresult of cuInit and cuDeviceGetCount, and the number of C(devices), both null
      with a C(error) if the calls do not end; null on a node without GPUs.
  type: dict
  returned: success
  sample: {code: 0, devices: 8, error: ""}
gpu_direct:
  description:
    - By what RDMA adapters read GPU memory, a kernel module or C(DMA-BUF); empty if they do not.
  type: str
  returned: success
  sample: nvidia_peermem
gpus_silent:
  description:
    - PCI addresses of GPUs that are on the bus and do not answer; in a container only of those that
      it has the device file of.
  type: list
  elements: str
  returned: success
  sample: ["0000:3e:00.0"]
gpu_remarks:
  description: What nvidia-smi says beside the rows, such as a warning of a corrupt infoROM.
  type: str
  returned: success
  sample: ""
gpus_chosen:
  description: Whether only some GPUs of the node may be used.
  type: bool
  returned: success
gpu_processes:
  description: Compute processes on the GPUs, as C(<pid> <name>).
  type: list
  elements: str
  returned: success
  sample: []
xid:
  description: Xid errors in the kernel's log since boot; null if the log cannot be read.
  type: list
  elements: int
  returned: success
  sample: []
peers:
  description: By node, why ssh does not get in, empty if it does; null without O(nodes).
  type: dict
  returned: success
  sample: {node2: ""}
authorized_keys:
  description: SHA-256 of the authorized_keys beside O(ssh_config); null where there is none.
  type: str
  returned: success
  sample: e3b0c44298fc1c149afbf4c8996fb924
image:
  description: IDs of the containers' images; null without O(containers).
  type: str
  returned: success
  sample: sha256:0123
container_infiniband:
  description: RDMA devices that every container can open; null without O(containers).
  type: list
  elements: str
  returned: success
  sample: [mlx5_0]
container_verbs:
  description: Whether every container has libibverbs, which NCCL needs for InfiniBand.
  type: bool
  returned: success
  sample: true
clock:
  description: The node's clock, in seconds since 1970.
  type: float
  returned: success
  sample: 1790000000.0
clock_skew:
  description:
    - Lower and upper bound of the time by which the node's clock is ahead of the controller's, in
      seconds.
  type: list
  elements: float
  returned: success
  sample: [-0.12, 0.03]
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node import fitness, nvidia_smi
from ansible_collections.scalebench.core.plugins.module_utils.node.drivers import (
    cuda_state,
    gpu_direct,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.ssh import (
    authorised,
    unreachable,
)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "nodes": {"type": "list", "elements": "str", "default": []},
            "node": {"type": "str", "default": ""},
            "ssh_config": {"type": "path", "default": ""},
            "containers": {"type": "list", "elements": "str", "default": []},
            "engine": {"type": "str", "default": "docker"},
            "work_dir": {"type": "path", "default": ""},
            "gpus": {"type": "bool", "default": True},
            "gpu_ids": {"type": "str", "default": "all"},
        },
        supports_check_mode=True,
    )
    args = module.params
    try:
        inside = [fitness.container(args["engine"], name) for name in args["containers"]]
        devices = [set(container["devices"]) for container in inside]
        lost = unreachable(args["ssh_config"], args["nodes"], args["node"])
        ids = nvidia_smi.chosen(args["gpu_ids"])
        options = [f"--id={','.join(ids)}"] if ids else []
        gpus = fitness.gpu_health(*options) if args["gpus"] and ids != [] else []
        silent, remarks = nvidia_smi.roll_call() if gpus else ([], "")
        module.exit_json(
            memlock_kib=fitness.memlock_kib(),
            writable=fitness.writable(args["work_dir"]),
            addresses=fitness.addresses(),
            routes=fitness.routes(),
            gpu_health=gpus,
            cuda=cuda_state() if gpus else None,
            gpu_direct=gpu_direct(),
            # One that is not asked for need not answer.
            gpus_silent=[] if options else silent,
            gpus_chosen=bool(options),
            gpu_remarks=remarks,
            gpu_processes=fitness.gpu_processes(*options) if gpus else [],
            xid=fitness.xid_codes(),
            peers={**dict.fromkeys(args["nodes"], ""), **lost} if args["nodes"] else None,
            authorized_keys=authorised(args["ssh_config"]),
            image=", ".join(container["image"] for container in inside) or None,
            container_infiniband=sorted(set.intersection(*devices)) if devices else None,
            container_verbs=all(container["verbs"] for container in inside),
            clock=time.time(),
        )
    except ValueError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
