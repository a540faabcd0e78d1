#!/usr/bin/python
"""Reads training logs and returns their throughput."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_log_facts
short_description: Read training logs and compute their throughput
description:
  - Reads one log, a list of logs, or all logs of a folder, in any format that Scalebench knows.
  - If a log does not contain what the strategy needs, RV(throughput) is null and RV(reason) says
    why. The log of a failed run is a result, too.
  - Changes nothing; works in check mode.
options:
  path:
    description:
      - A log, a folder (its files C(*.log), C(*.txt), C(*.out) and C(*_log), at any depth), or a
        list of these.
    type: list
    elements: path
    required: true
  reader:
    description: Format of the logs; V(auto) detects it.
    type: str
    default: auto
  strategy:
    description:
      - Rule that computes the throughput from the observations; V(auto) is the format's default.
    type: str
    default: mean_after_warmup
  parameters:
    description: Parameters of the strategy, such as C(warmup) and C(iterations).
    type: dict
    default: {}
  expect:
    description:
      - Parameters of the run that the log must not contradict, such as C(batch_size_per_device).
      - A log that contradicts them has RV(valid=false) and no throughput. What it does not state of
        C(batch_size_per_device), C(world_size) and C(nodes) is taken from here.
    type: dict
    default: {}
  observations:
    description: Whether to return all observations.
    type: bool
    default: false
  target_accuracy:
    description: Top-1 accuracy in percent; RV(time_to_train) says when it was first reached.
    type: float
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Read one repeat
  training_log_facts:
    path: results/20261121-024500/logs/pytorch/bz4/2n1g/r50_b4_fp32_1.log
    parameters: {warmup: 20, iterations: 100}
    expect: {batch_size_per_device: 4, world_size: 2}
  register: repeat

- name: Read a whole tree of MXNet logs by their own summary table
  training_log_facts:
    path: logs/mxnet
    strategy: summary_table
  register: tree
"""

RETURN = r"""
logs:
  description: The facts of each log that could be read, in the order of the paths.
  returned: success
  type: list
  elements: dict
  sample:
    - {path: r50_b4_fp32_1.log, reader: scalebench, throughput: 24.1, unit: images/s, scope: global,
       count: 100, ending: {kind: complete, detail: ""}}
failures:
  description: Logs that could not be read, with the reason.
  returned: success
  type: list
  elements: dict
  sample: [{path: notes.txt, reason: "notes.txt: no known format in 12 lines"}]
reader:
  description: Format of the log. For a single log, its facts are also returned at the top level.
  returned: one log
  type: str
  sample: scalebench
identity:
  description: Parameters of the run stated in the log.
  returned: one log
  type: dict
  sample: {model: resnet50_v1.5, batch_size_per_device: 4, world_size: 2, precision: fp32}
ending:
  description:
    - C(kind), one of complete, truncated, out_of_memory, nan_loss, traceback and killed, and the
      log line that says so (C(detail)).
  returned: one log
  type: dict
  sample: {kind: complete, detail: ""}
throughput:
  description: Throughput by the strategy; null if there is none, for RV(reason).
  returned: one log
  type: float
  sample: 24.1
unit:
  description: Unit of the throughput.
  returned: one log
  type: str
  sample: images/s
scope:
  description: Whether the throughput is that of all devices (global) or of one (per_device).
  returned: one log
  type: str
  sample: global
strategy:
  description: Name of the strategy, and all its parameters.
  returned: one log
  type: dict
  sample: {name: mean_after_warmup, parameters: {warmup: 20, iterations: 100, rounding: numpy_2}}
count:
  description: Number of observations used for the throughput.
  returned: one log
  type: int
  sample: 100
steps:
  description:
    - Number of training steps of which the throughput is; several where a line stands for several.
      Null for a figure that the log itself summarises.
  returned: one log
  type: int
  sample: 100
printed:
  description: Number of observations in the run.
  returned: one log
  type: int
  sample: 120
run:
  description: Number of the run that was used, from 1 to RV(runs).
  returned: one log
  type: int
  sample: 1
runs:
  description: Number of runs in the file.
  returned: one log
  type: int
  sample: 1
valid:
  description: Whether the log agrees with O(expect).
  returned: one log
  type: bool
  sample: true
reason:
  description: Why there is no throughput; empty if there is one.
  returned: one log
  type: str
  sample: the log says batch_size_per_device 4, expected 8
summary:
  description: Totals printed by the log, by its own names.
  returned: one log
  type: dict
  sample: {iterations: 120, seconds: 61.2, peak_memory_mib: 812.4}
wall_clock_throughput:
  description: Throughput from the printed times of the same observations; null without times.
  returned: one log
  type: float
  sample: 23.97
loss:
  description:
    - First and last printed loss, and the medians of the first and the last quarter of the losses.
  type: dict
  returned: where printed
  sample: {first: 7.02, last: 6.51, first_quarter: 6.98, last_quarter: 6.6, rise_z: -4.1}
harmonic_throughput:
  description: Harmonic mean of the observations used for RV(throughput); null without any.
  type: float
  returned: success
  sample: 24.08
memory:
  description: Peak memory in MiB; null if not printed.
  returned: one log
  type: float
  sample: 812.4
accuracy:
  description: Best top-1 accuracy of the evaluations, in percent; null without any.
  returned: one log
  type: float
  sample: 76.2
time_to_train:
  description:
    - Times in s and accuracies in percent of a log with evaluations; null without any.
    - A run starts at the first printed time; evaluations and start-up count.
  returned: one log
  type: dict
  sample: {total_time: 128.4, time_to_target: 85.6, target_accuracy: 76.1, best_accuracy: 76.2}
steady_state:
  description: End of the start-up of the run, see P(steady_state#filter).
  returned: one log
  type: dict
  sample: {reached: true, start: 10, count: 110, mean: 24.1, drift: 0.001}
within_run:
  description: Standard error of the mean of the run, see P(within_run#filter).
  returned: one log
  type: dict
  sample: {count: 100, mean: 24.1, autocorrelation_time: 1.8, half_width: 0.008}
observations:
  description: All observations, if O(observations) is set.
  returned: one log, if asked for
  type: list
  elements: dict
  sample: [{step: 1, epoch: 0, rank: null, throughput: 12.34, loss: 7.02, scope: global}]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.log_reading import (
    ARGUMENTS,
    read_logs,
)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        module.exit_json(**read_logs(module.params))
    except ValueError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
