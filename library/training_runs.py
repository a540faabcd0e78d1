"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_runs
short_description: Run the repeats of a wave on a node
description:
  - An action plugin. It runs a M(training_run) for each repeat of the wave that the node takes part
    in, all at the same time. There is more than one if repeats are packed onto disjoint devices.
  - A node that became unreachable in all of them is tried once more.
options:
  shares:
    description: The node's element of C(shares) of the wave, see RV(campaign_plan#module:waves).
    type: list
    elements: dict
    required: true
  without:
    description: Logs of repeats that are not run; the task is skipped if none is left.
    type: list
    elements: str
    required: true
  options:
    description:
      - What all repeats have in common. C(campaign) has the campaign's C(name), C(directory) and
        C(session). For the others see O(training_run#module:work_dir),
        O(training_run#module:timeout), O(training_run#module:grace), O(training_run#module:stall),
        O(training_run#module:memory_mib) and O(training_run#module:sample_interval).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Run the repeats of a wave
  training_runs:
    shares: "{{ wave.shares[inventory_hostname] }}"
    without: []
    options:
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
gone:
  description: Why the node cannot be reached afterwards either; empty if it can.
  type: str
  returned: when the node was unreachable
  sample: "ssh: connect to host 10.0.0.2 port 10000: No route to host"
"""
