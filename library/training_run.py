#!/usr/bin/python
"""Door to MU node.supervise."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_run
short_description: Run one repeat of a training on this node, watched
description:
  - Starts the launcher, writes its output to a log, watches for the time limit, for silence and for
    a controller that went away, ends exactly what it started and tells how it ended.
  - Training that fails is a result and not a failure of the task; see RV(ending).
  - The log is brought to the controller under O(fetch_to) by the action plugin of the same name.
options:
  argv:
    description: The launcher's command, one list element an argument; no shell reads it.
    type: list
    elements: str
    required: true
  environment:
    description: Added to the login environment.
    type: dict
    default: {}
  rank:
    description: This node's rank; 0 leads and prints the measurements.
    type: int
    default: 0
  work_dir:
    description: Scalebench's folder on the node; one repeat at a time holds it, or O(devices).
    type: path
    required: true
  devices:
    description:
      - Places of the node's devices that the repeat takes, where others run on the rest of them at
        the same time; empty where the node is its own.
    type: list
    elements: int
    default: []
  directory:
    description: Folder for the log and the node's record, below O(work_dir); made where missing.
    type: str
    required: true
  name:
    description:
      - The log is C(<name>.log), the record C(<name>.run.json). The launcher starts in a new folder
        C(<name>.files), which some launchers write logs of their own to.
    type: str
    required: true
  timeout:
    description: Seconds after which the run is ended; 0 for no limit.
    type: float
    default: 0
  stall:
    description:
      - Seconds without output after which the run is ended; 0 for no limit. Only rank 0's node is
        held to it, since the others print nothing; they end with it.
    type: float
    default: 0
  memory_mib:
    description: Memory that each process may take, in MiB; 0 for no limit.
    type: int
    default: 0
  grace:
    description:
      - Seconds that the node has beyond O(timeout) to end all processes and to answer. Then the
        controller ends its connection, and the repeat ended by timeout. Where it ended the
        connection it waits as long for the node to end the processes.
    type: float
    default: 60
  failed_file:
    description:
      - A file on the controller by which the nodes of a repeat know of each other. The first to
        fail makes it; soon after, the action plugin ends the others, which would wait for it.
    type: path
  sample_interval:
    description: Seconds between two samples of the node's telemetry; 0 for none.
    type: float
    default: 2
  fetch_to:
    description: Path on the controller for the log; it appears there whole or not at all.
    type: path
attributes:
  check_mode:
    support: full
    description: Runs nothing.
"""

EXAMPLES = r"""
- name: Train one repeat on every node
  training_run:
    argv: [/opt/venv/bin/torchrun, --nnodes=2, train.py]
    work_dir: /var/tmp/scalebench
    directory: runs/mine/pytorch/bz128/2n8g
    name: r50_b128_fp32_1
    timeout: 1800
    fetch_to: results/mine/logs/pytorch/bz128/2n8g/r50_b128_fp32_1.log
"""

RETURN = r"""
ending:
  description:
    - ok, crashed, timeout, stalled, interrupted or launch_failed; cancelled where a peer failed.
  type: str
  returned: always
  sample: ok
reason:
  description: What happened, in words; empty where all went well.
  type: str
  returned: always
  sample: "exit code 1: RuntimeError: Connection reset by peer"
exit_code:
  description: The launcher's exit code, negative for a signal; null where it was ended.
  type: int
  returned: always
  sample: 0
seconds:
  description: Wall time from the start to the end of the last process, in seconds.
  type: float
  returned: always
  sample: 27.124
ended:
  description: How many processes were left and had to be ended.
  type: int
  returned: always
  sample: 0
telemetry:
  description:
    - What the node did meanwhile; null where no sample was asked for or nothing ran.
    - Counters are differences over the repeat; gauges have C(min), C(mean) and C(max). C(cpu) is of
      the whole machine, but C(own_seconds) of the repeat's processes on this node alone.
    - A figure that the node does not have is absent. C(gpu) says why GPUs were not sampled.
  type: dict
  returned: always
  sample:
    interval: 2.0
    samples: 14
    seconds: 27.131
    cpu:
      cores: 96
      own_seconds: 803.1
      busy_seconds: 809.2
      irq_seconds: 9.1
      steal_seconds: 0.0
      iowait_seconds: 0.4
    load: {before: 0.3, min: 0.3, mean: 14.2, max: 29.8}
    memory_used_mib: {min: 11020.1, mean: 48230.8, max: 61004.3}
    memory_stall_seconds: 0.0
    swapped_in_mib: 0.0
    network: {eth0: {received_mib: 0.4, sent_mib: 0.4, errors: 0}}
    infiniband: {mlx5_0/1: {received_mib: 51200.7, sent_mib: 51200.5, errors: 0, link_downed: 0}}
    cpu_mhz: {min: 2100.0, mean: 2690.5, max: 2700.0}
    cpu_throttle_events: 0
    gpus:
      - index: 0
        uuid: GPU-7d1e2f30-0000-0000-0000-000000000000
        name: Tesla V100-SXM2-16GB
        utilisation: {min: 0, mean: 88.1, max: 99}
        memory_used_mib: {min: 3.0, mean: 13900.2, max: 15020.0}
        sm_clock_mhz: {min: 135, mean: 1489.7, max: 1530}
        memory_clock_mhz: {min: 877, mean: 877, max: 877}
        power_w: {min: 42.1, mean: 268.4, max: 299.2}
        power_limit_w: 300.0
        temperature_c: {min: 35, mean: 52.6, max: 58}
        throttle: {gpu_idle: 0.1429, sw_power_cap: 0.2143}
        ecc_uncorrected: 0
        xid: []
    sampling_seconds: 0.0112
device_users:
  description: Processes that were on the repeat's GPUs before it began, as C(<pid>, <name>).
  type: list
  elements: str
  returned: always
  sample: []
memory_mib:
  description: The limit that each process had, in MiB; 0 for none.
  type: int
  returned: always
  sample: 0
started:
  description: When it began, UTC, ISO 8601.
  type: str
  returned: always
  sample: "2026-11-21T03:12:08Z"
log:
  description: Path of the log on the node.
  type: str
  returned: always
  sample: /var/tmp/scalebench/runs/mine/pytorch/bz128/2n8g/r50_b128_fp32_1.log
node:
  description: The name that the node's sshd gave it, empty where it gave none.
  type: str
  returned: always
  sample: node1
"""

import contextlib
import json
import os
import shutil
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.gpus import device_users
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import attended, end_strays
from ansible_collections.scalebench.core.plugins.module_utils.node.supervise import (
    RUN_VARIABLE,
    supervise,
)


def main() -> None:
    """Run the launcher and write the node's record last."""
    module = AnsibleModule(
        argument_spec={
            "argv": {"type": "list", "elements": "str", "required": True},
            "environment": {"type": "dict", "default": {}},
            "rank": {"type": "int", "default": 0},
            "work_dir": {"type": "path", "required": True},
            "devices": {"type": "list", "elements": "int", "default": []},
            "directory": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            "timeout": {"type": "float", "default": 0},
            "stall": {"type": "float", "default": 0},
            "memory_mib": {"type": "int", "default": 0},
            "grace": {"type": "float", "default": 60},
            "failed_file": {"type": "path"},
            "sample_interval": {"type": "float", "default": 2},
            "fetch_to": {"type": "path"},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    if module.check_mode:
        module.exit_json(changed=True, skipped=True, msg="would run " + " ".join(wanted["argv"]))
    directory = os.path.join(wanted["work_dir"], wanted["directory"])
    run = os.path.join(directory, wanted["name"])
    environment = {key: str(value) for key, value in wanted["environment"].items()}
    record = {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "node": os.environ.get("SCALEBENCH_NODE", ""),
        "rank": wanted["rank"],
        "argv": wanted["argv"],
        "env": environment,
        "memory_mib": wanted["memory_mib"],
        "log": run + ".log",
    }
    try:
        os.makedirs(directory, exist_ok=True)
        with attended(wanted["work_dir"], run, wanted["devices"]):
            record["strays"] = len(end_strays(wanted["work_dir"], run))
            record["device_users"] = device_users(environment)
            folder = run + ".files"
            shutil.rmtree(folder, ignore_errors=True)
            # Launchers write their environment there, and that may hold what is nobody else's.
            os.makedirs(folder, mode=0o700)
            record.update(
                supervise(
                    wanted["argv"],
                    record["log"],
                    {**environment, RUN_VARIABLE: run},
                    wanted["timeout"],
                    0 if wanted["rank"] else wanted["stall"],
                    controller=1,
                    sample_interval=wanted["sample_interval"],
                    memory_mib=wanted["memory_mib"],
                    folder=folder,
                )
            )
            with contextlib.suppress(OSError):
                os.rmdir(folder)  # most launchers put nothing there
        with open(run + ".run.json.part", "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1, sort_keys=True)
        os.replace(run + ".run.json.part", run + ".run.json")
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"{run}: {error}")
    module.exit_json(changed=True, **record)


if __name__ == "__main__":
    main()
