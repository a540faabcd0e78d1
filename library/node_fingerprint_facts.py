#!/usr/bin/python
"""Door to MU fingerprint; looks at the node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_fingerprint_facts
short_description: Read what a node is, what it can run and what still runs on it
description:
  - Hardware and system facts that make measurements comparable, free room, the interpreters of the
    frameworks, and processes that earlier repeats left behind.
options:
  work_dir:
    description: Scalebench's folder on the node; its disk and its runs are looked at.
    type: path
    required: true
  pythons:
    description: The interpreter that each framework is to run with, by framework.
    type: dict
    default: {}
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
  description: What the node is.
  type: dict
  returned: always
  sample: {hostname: gpu01, cores: 96, memory_mib: 772000, gpus: [{index: 0, name: Tesla V100}]}
unusable:
  description: Framework by framework, why its interpreter cannot be used.
  type: dict
  returned: always
  sample: {pytorch: no such file}
runs:
  description: Repeats of earlier calls of which processes live on, with the process ids.
  type: dict
  returned: always
  sample: {}
"""

import os
import platform
import socket
import subprocess

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.fingerprint import (
    GPU_QUERY,
    fingerprint,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import marked

FILES = {
    "cpuinfo": "/proc/cpuinfo",
    "meminfo": "/proc/meminfo",
    "loadavg": "/proc/loadavg",
    "os_release": "/etc/os-release",
    "machine_id": "/etc/machine-id",
    "boot_id": "/proc/sys/kernel/random/boot_id",
}


def read(path: str) -> str:
    """Return a file's text; empty where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def query_gpus() -> str:
    """Return nvidia-smi's answer; empty where there is no nvidia-smi or no GPU."""
    command = ["nvidia-smi", f"--query-gpu={','.join(GPU_QUERY)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        return ""
    if "No devices were found" in done.stdout:
        return ""
    if done.returncode:
        raise ValueError(f"nvidia-smi: exit code {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def free_mib(path: str) -> int:
    """Return the room that is left where ``path`` lies or would lie, in MiB."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    room = os.statvfs(path)
    return room.f_bavail * room.f_frsize // 2**20


def main() -> None:
    """Read and return."""
    module = AnsibleModule(
        argument_spec={
            "work_dir": {"type": "path", "required": True},
            "pythons": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    texts = {name: read(path) for name, path in FILES.items()}
    try:
        facts = fingerprint({**texts, "gpus": query_gpus()})
    except (ValueError, subprocess.TimeoutExpired) as error:
        module.fail_json(msg=str(error))
    facts.update(
        node=os.environ.get("SCALEBENCH_NODE", ""),
        hostname=socket.gethostname(),
        kernel=platform.release(),
        python=platform.python_version(),
        cores=len(os.sched_getaffinity(0)),
        disk_free_mib=free_mib(module.params["work_dir"]),
    )
    unusable = {
        framework: "there is no such file" if not os.path.exists(python) else "it is no program"
        for framework, python in module.params["pythons"].items()
        if not os.access(python, os.X_OK)
    }
    runs = {}
    for process, run in marked(module.params["work_dir"]):
        runs.setdefault(run, []).append(process.pid)
    module.exit_json(changed=False, fingerprint=facts, unusable=unusable, runs=runs)


if __name__ == "__main__":
    main()
