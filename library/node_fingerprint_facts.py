#!/usr/bin/python
"""Read the fingerprint of this node, its free space and the repeats that run on it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_fingerprint_facts
short_description: Read a node's hardware, software, free space and running repeats
description:
  - Hardware and system facts that make measurements comparable, NVIDIA's PCI devices, free space,
    the interpreters of the frameworks, and processes that earlier repeats left behind.
options:
  work_dir:
    description: Scalebench's folder on the node; its disk space and its runs are reported.
    type: path
    required: true
  pythons:
    description:
      - The interpreter that each framework is to run with, by framework.
      - An empty path stands for the interpreter that runs this module.
    type: dict
    default: {}
  images:
    description: Digest of the container image that each framework runs in, by framework.
    type: dict
    default: {}
  data_dir:
    description: Folder of the data set that campaigns would read.
    type: path
    default: ""
  workload_dir:
    description: Folder of the trainers, whose files are told apart by their digests.
    type: path
    default: ""
  gpus:
    description:
      - Whether to ask for GPUs. The module fails if there is one that cannot be asked; V(false)
        makes the node one without GPUs.
    type: bool
    default: true
  gpu_ids:
    description: The GPUs that may be used, as numbers with commas between them, or C(all).
    type: str
    default: all
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Look at the nodes
  node_fingerprint_facts:
    work_dir: /var/tmp/scalebench
    pythons: {pytorch: /opt/venvs/pytorch/bin/python}
  register: node
"""

RETURN = r"""
fingerprint:
  description:
    - Hardware and software of the node; null where the node does not report a value.
    - C(gpus) and C(cpu_model), C(cores), C(hostname), C(machine_id) identify the node;
      a campaign continues only if they are unchanged. C(cores) are those that affinity and CPU
      quotas leave to this account's processes, and C(cpu_quota) tells of which cgroup the
      quota is, and how many cores there are without it. The rest is recorded - C(gpu_settings),
      C(interfaces), C(infiniband), C(numa_nodes), and in C(frameworks) the packages of each
      interpreter, read without starting it.
  type: dict
  returned: always
  sample:
    hostname: gpu01
    cores: 96
    cpu_quota: null
    memory_mib: 772000
    cpu_governor: performance
    numa_nodes: {"0": "0-23,48-71", "1": "24-47,72-95"}
    virtualisation: none
    cuda_driver: "12.4"
    cuda_toolkit: 12.4.131
    ofed: MLNX_OFED_LINUX-5.8-1.1.2.1
    interfaces: {ib0: {mtu: 2044, speed_mbit: 100000}}
    infiniband:
      mlx5_0:
        type: MT4119
        board: MT_0000000008
        firmware: 16.27.1016
        ports: {"1": {rate: 100 Gb/sec (4X EDR), state: "4: ACTIVE", link_layer: InfiniBand}}
    gpus: [{index: 0, name: Tesla V100, memory_mib: 16160, driver: 440.33.01, uuid: GPU-1}]
    gpu_settings: [{index: 0, power_limit_watts: 300.0, persistence_mode: Enabled}]
    frameworks:
      pytorch: {python: 3.11.7, nccl: 2.21.5, image: null, packages: {torch: 2.9.1, numpy: 2.2.6}}
unusable:
  description: By framework, why its interpreter cannot be used.
  type: dict
  returned: always
  sample: {pytorch: no such file}
pythons:
  description: O(pythons), with the path of this module's interpreter for an empty one.
  type: dict
  returned: always
  sample: {pytorch: /opt/venvs/pytorch/bin/python}
pci:
  description: NVIDIA's devices on the PCI bus, as M(pci_devices_info) returns them.
  type: list
  elements: dict
  returned: always
  sample: [{slot: "0000:3b:00.0", vendor: 10de, device: 1db1, device_class: "030200", driver: null}]
runs:
  description: Repeats of earlier calls whose processes still run, with the process ids.
  type: dict
  returned: always
  sample: {}
workload:
  description: The beginning of the SHA-256 of each trainer's file, by its path in O(workload_dir).
  type: dict
  returned: always
  sample: {resnet50/train_pytorch.py: 83f3cc1b2a52f1e7}
data_dir:
  description: Folder of the data set; empty if it does not exist.
  type: str
  returned: always
  sample: /datasets/ImageNet
images_dir:
  description: Folder of its images, by part and class.
  type: str
  returned: always
  sample: /datasets/ImageNet/images
"""

import os
import platform
import socket
import sys

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.evidence.fingerprint import (
    GPU_QUERY,
    SETTINGS_QUERY,
    fingerprint,
)
from ansible_collections.scalebench.core.plugins.module_utils.node import nvidia_smi
from ansible_collections.scalebench.core.plugins.module_utils.node.dataset_files import (
    images_folder,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.drivers import pci_devices
from ansible_collections.scalebench.core.plugins.module_utils.node.interpreters import (
    environment_facts,
    why_not,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.machine import (
    cores,
    cpu_quota,
    devices,
    digests,
    texts,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import marked


def free_mib(path: str) -> int:
    """Return the free MiB on the file system of ``path``, which need not exist yet."""
    path = os.path.abspath(path)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    room = os.statvfs(path)
    return room.f_bavail * room.f_frsize // 2**20


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "work_dir": {"type": "path", "required": True},
            "pythons": {"type": "dict", "default": {}},
            "images": {"type": "dict", "default": {}},
            "data_dir": {"type": "path", "default": ""},
            "workload_dir": {"type": "path", "default": ""},
            "gpus": {"type": "bool", "default": True},
            "gpu_ids": {"type": "str", "default": "all"},
        },
        supports_check_mode=True,
    )
    given = module.params["pythons"].items()
    pythons = {framework: path or sys.executable for framework, path in given}
    try:
        fields, ids = (*GPU_QUERY, *SETTINGS_QUERY), nvidia_smi.chosen(module.params["gpu_ids"])
        options = [f"--id={','.join(ids)}"] if ids else []
        asks = module.params["gpus"] and ids != []
        gpus = nvidia_smi.ask("--query-gpu", fields, *options) if asks else []
        missing = set(ids if gpus and ids else ()) - {gpu["index"] for gpu in gpus}
        if missing:
            raise ValueError(f"the node has no GPU {', '.join(sorted(missing))} (scalebench_gpus)")
        facts = {**fingerprint(texts(), gpus), **devices()}
        workload = digests(module.params["workload_dir"])
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    facts.update(
        node=os.environ.get("SCALEBENCH_NODE", ""),
        hostname=socket.gethostname(),
        kernel=platform.release(),
        python=platform.python_version(),
        cores=cores(),
        cpu_quota=cpu_quota(),
        disk_free_mib=free_mib(module.params["work_dir"]),
        frameworks={
            framework: {
                **environment_facts(python),
                "image": module.params["images"].get(framework),
            }
            for framework, python in pythons.items()
        },
    )
    reasons = {framework: why_not(path) for framework, path in pythons.items()}
    unusable = {framework: reason for framework, reason in reasons.items() if reason}
    runs = {}
    for process, run in marked(module.params["work_dir"]):
        runs.setdefault(run, []).append(process.pid)
    data_dir = module.params["data_dir"]
    module.exit_json(
        changed=False,
        fingerprint=facts,
        unusable=unusable,
        pythons=pythons,
        pci=pci_devices("10de"),
        runs=runs,
        workload=workload,
        data_dir=data_dir if os.path.isdir(data_dir) else "",
        images_dir=images_folder(data_dir) if os.path.isdir(data_dir) else "",
    )


if __name__ == "__main__":
    main()
