#!/usr/bin/python
"""Module training_log_facts: reads files, calls the pure code, returns."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_log_facts
short_description: Read training logs and return their throughput, by a named strategy
description:
  - Reads one log, a list of logs, or all logs of a folder, in any format it knows.
  - A log that does not give the strategy what it needs has RV(throughput=null) and says why in
    RV(reason); a failed run is a result as well.
  - Reads in check mode as well; changes nothing.
options:
  path:
    description:
      - A log, a folder (what ends in C(.log), C(.txt), C(.out) or C(_log) in it, at any depth), or
        a list of them.
    type: list
    elements: path
    required: true
  reader:
    description: Format of the logs; V(auto) recognises it from the text.
    type: str
    default: auto
  strategy:
    description: Rule from observations to one throughput; V(auto) is the usual one of the format.
    type: str
    default: mean_after_warmup
  parameters:
    description: Parameters of the strategy, such as C(warmup) and C(iterations).
    type: dict
    default: {}
  expect:
    description:
      - Identity that the log must not contradict, such as C(batch_size_per_device).
      - A log that does has RV(valid=false) and no throughput.
    type: dict
    default: {}
  observations:
    description: Also return every observation.
    type: bool
    default: false
  target_accuracy:
    description: Top-1 accuracy in percent; RV(time_to_train) says when the log first reaches it.
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
  description: Logs of a list or folder that could not be read, with the reason.
  returned: success
  type: list
  elements: dict
  sample: [{path: notes.txt, reason: "notes.txt: no known format in 12 lines"}]
reader:
  description: Which format the log has. With one log, all its facts stand at the top as well.
  returned: one log
  type: str
  sample: scalebench
identity:
  description: What the log says of its own run.
  returned: one log
  type: dict
  sample: {model: resnet50_v1.5, batch_size_per_device: 4, world_size: 2, precision: fp32}
ending:
  description: complete, truncated, out_of_memory, nan_loss, traceback or killed, and the line.
  returned: one log
  type: dict
  sample: {kind: complete, detail: ""}
throughput:
  description: Throughput by the strategy; null where RV(reason) says why there is none.
  returned: one log
  type: float
  sample: 24.1
unit:
  description: Unit of the throughput.
  returned: one log
  type: str
  sample: images/s
scope:
  description: What the throughput counts, all devices (global) or one (per_device).
  returned: one log
  type: str
  sample: global
strategy:
  description: Name of the rule, and all its parameters.
  returned: one log
  type: dict
  sample: {name: mean_after_warmup, parameters: {warmup: 20, iterations: 100, rounding: numpy_2}}
count:
  description: Number of observations that the throughput rests on, of RV(printed) in the run.
  returned: one log
  type: int
  sample: 100
printed:
  description: Number of observations in the run.
  returned: one log
  type: int
  sample: 120
run:
  description: Which of the RV(runs) in the file was taken, counted from 1.
  returned: one log
  type: int
  sample: 1
runs:
  description: Number of runs in the file.
  returned: one log
  type: int
  sample: 1
valid:
  description: Whether the log does not contradict O(expect).
  returned: one log
  type: bool
  sample: true
reason:
  description: Why there is no throughput; empty where there is one.
  returned: one log
  type: str
  sample: the log says batch_size_per_device 4, expected 8
summary:
  description: What the log itself sums up, by its own names.
  returned: one log
  type: dict
  sample: {iterations: 120, seconds: 61.2, peak_memory_mib: 812.4}
wall_clock_throughput:
  description: Throughput by the printed times over the same observations; null without times.
  returned: one log
  type: float
  sample: 23.97
loss:
  description:
    - First and last loss printed, and the medians of the first and the last quarter of them.
  type: dict
  returned: where printed
  sample: {first: 7.02, last: 6.51, first_quarter: 6.98, last_quarter: 6.6}
harmonic_throughput:
  description: Harmonic mean of the observations that RV(throughput) is of; null where none are.
  type: float
  returned: success
  sample: 24.08
memory:
  description: Peak memory in MiB, where printed.
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
    - A run starts with the first time printed; evaluations and start-up count.
  returned: one log
  type: dict
  sample: {total_time: 128.4, time_to_target: 85.6, target_accuracy: 76.1, best_accuracy: 76.2}
steady_state:
  description: Where the start-up of the run ends, see P(steady_state#filter).
  returned: one log
  type: dict
  sample: {reached: true, start: 10, count: 110, mean: 24.1, drift: 0.001}
within_run:
  description: How well the mean of the run is known, see P(within_run#filter).
  returned: one log
  type: dict
  sample: {count: 100, mean: 24.1, autocorrelation_time: 1.8, relative_error: 0.004}
observations:
  description: Every observation, where O(observations) is set.
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
