#!/usr/bin/python
"""Runs the launcher of one repeat on a node under supervision."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_run
short_description: Run one repeat of a training on this node, supervised
description:
  - Starts the launcher, writes its output to a log, and ends the processes it started at the time
    limit, after a time without output, or when the controller is gone.
  - A failed training is a result and does not fail the task; see RV(ending).
  - The action plugin of the same name writes the log to O(fetch_to) on the controller. A log of up
    to 1 MiB comes with the module's answer, a larger one is fetched. It sends the node a program
    without Ansible's code, of which Python would compile every line at each repeat.
options:
  argv:
    description: Command of the launcher, one list element per argument; no shell is involved.
    type: list
    elements: str
    required: true
  environment:
    description: Environment variables, added to those of the login.
    type: dict
    default: {}
  rank:
    description: Rank of this node; rank 0 prints the measurements.
    type: int
    default: 0
  work_dir:
    description:
      - Scalebench's working folder on the node. The repeat locks the node, or O(devices) of it.
        C(~) and variables of the environment are those of the node.
    type: str
    required: true
  devices:
    description:
      - Indices of the node's devices that the repeat uses, if others run on the rest of them at the
        same time; empty if it has the node to itself.
    type: list
    elements: int
    default: []
  directory:
    description: Folder for the log and the record, below O(work_dir); created if missing.
    type: str
    required: true
  name:
    description:
      - The log is C(<name>.log), the record C(<name>.run.json). The launcher starts in a new folder
        C(<name>.files), to which some launchers write their own logs. Its folder C(output), where
        published trainers leave snapshots, is removed after the run.
    type: str
    required: true
  timeout:
    description: Time limit in seconds; 0 for no limit.
    type: float
    default: 0
  stall:
    description:
      - Seconds without output after which the run is ended; 0 for no limit. It applies to rank 0
        only, because the other ranks print nothing; they are ended with rank 0.
    type: float
    default: 0
  memory_mib:
    description: Memory limit of each process, in MiB; 0 for no limit.
    type: int
    default: 0
  grace:
    description:
      - Seconds that the node has after O(timeout) to end all processes and to answer. Then the
        controller closes the connection, the ending is timeout, and it waits as long again for the
        node to end the processes.
    type: float
    default: 60
  failed_file:
    description:
      - A file on the controller that the nodes of a repeat share. The first node to fail creates
        it; soon after, the action plugin ends the repeat on the other nodes.
    type: path
  sample_interval:
    description: Seconds between two telemetry samples; 0 for no samples.
    type: float
    default: 2
  fetch_to:
    description: Path for the log on the controller, where it is written atomically.
    type: path
attributes:
  check_mode:
    support: full
    description: Does not start the launcher.
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
    - ok, crashed, timeout, stalled, interrupted, launch_failed, or cancelled (another node failed).
  type: str
  returned: always
  sample: ok
reason:
  description: Why the run did not end with ok; empty if it did.
  type: str
  returned: always
  sample: "exit code 1: RuntimeError: Connection reset by peer"
exit_code:
  description: Exit code of the launcher, negative for a signal; null if the supervisor ended it.
  type: int
  returned: always
  sample: 0
seconds:
  description: Time from the start of the launcher to the end of the last process, in seconds.
  type: float
  returned: always
  sample: 27.124
ended:
  description: Number of processes that the supervisor had to end.
  type: int
  returned: always
  sample: 0
telemetry:
  description:
    - Telemetry of the node during the run; null without samples.
    - Counters are differences over the run; gauges have C(min), C(mean) and C(max). C(cpu) covers
      the whole machine, except C(own_seconds), the CPU time of the run's processes on this node.
    - Figures that the node does not provide are absent. C(gpu) says why GPUs were not sampled.
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
    longest_pause_seconds: 1.0
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
  description: Processes that used the run's GPUs before it started, as C(<pid>, <name>).
  type: list
  elements: str
  returned: always
  sample: []
memory_mib:
  description: Memory limit of each process, in MiB; 0 for none.
  type: int
  returned: always
  sample: 0
transport:
  description:
    - What connects the node's ranks to each other and to those of other nodes, as NCCL tells it in
      files C(nccl.<host>.<pid>.log) in C(<name>.files); empty where it connects none.
  type: list
  elements: str
  returned: always
  sample: [NET/IB/GDRDMA, P2P/IPC]
started:
  description: Start of the run, UTC, ISO 8601.
  type: str
  returned: always
  sample: "2026-11-21T03:12:08Z"
log:
  description: Path of the log on the node.
  type: str
  returned: always
  sample: /var/tmp/scalebench/runs/mine/pytorch/bz128/2n8g/r50_b128_fp32_1.log
packed_log:
  description:
    - Content of the log, compressed, as Base64; null if it is larger than 1 MiB, or without
      O(fetch_to). The action plugin takes it out of its result.
  type: str
  returned: always
  sample: null
node:
  description: Name of the node as set by its sshd; empty if not set.
  type: str
  returned: always
  sample: node1
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.repeat import (
    ARGUMENTS,
    run_repeat,
)


def main() -> None:
    """Run the repeat."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    if module.check_mode:
        argv = " ".join(module.params["argv"])
        module.exit_json(changed=True, skipped=True, msg=f"would run {argv}")
    try:
        answer = run_repeat(module.params)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**answer)


if __name__ == "__main__":
    main()
