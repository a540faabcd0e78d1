"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_runs
short_description: Run the repeats of a wave on a node
description:
  - An action plugin. It runs a M(training_run) for each repeat of the wave that the node takes part
    in, all at the same time. There is more than one if repeats are packed onto disjoint devices.
options:
  shares:
    description: The node's element of C(shares) of the wave, see RV(campaign_plan#module:waves).
    type: list
    elements: dict
    required: true
  campaign:
    description: The campaign's C(name), C(directory) and C(session).
    type: dict
    required: true
  work_dir:
    description: See O(training_run#module:work_dir).
    type: path
    required: true
  timeout:
    description: See O(training_run#module:timeout).
    type: float
    required: true
  grace:
    description: See O(training_run#module:grace).
    type: float
    required: true
  stall:
    description: See O(training_run#module:stall).
    type: float
    required: true
  memory_mib:
    description: See O(training_run#module:memory_mib).
    type: int
    required: true
  sample_interval:
    description: See O(training_run#module:sample_interval).
    type: float
    required: true
"""

EXAMPLES = r"""
- name: Run the repeats of a wave
  training_runs:
    shares: "{{ wave.shares[inventory_hostname] }}"
    campaign:
      name: mine
      directory: results/mine
      session: "2026-11-21T03:12:08Z"
    work_dir: /var/tmp/scalebench
    timeout: 3600
    grace: 60
    stall: 600
    memory_mib: 0
    sample_interval: 2
"""

RETURN = r"""
runs:
  description:
    - By log, the result of M(training_run); C(unreachable) and C(msg) if the node was lost.
  type: dict
  returned: always
  sample:
    logs/pytorch/bz128/1n1g/r50_b128_fp32_1.log: {ending: ok, reason: "", seconds: 27.124}
"""
