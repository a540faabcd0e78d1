"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: repeat_record
short_description: Write the run records of the repeats of one wave
description:
  - An action plugin on the controller; it makes one ending out of what the nodes and the log of a
    repeat say and writes C(<log without .log>.run.json), the ledger by which a campaign is resumed.
  - A repeat that did not end well is recorded and is no failure of the task.
  - After one that ran out of memory, those of the same cell with a larger batch are recorded as
    skipped.
options:
  campaign:
    description: The campaign's name.
    type: str
    required: true
  session:
    description: The name of this run of the playbook, as of M(campaign_plan).
    type: str
    required: true
  directory:
    description: The campaign's folder.
    type: path
    required: true
  wave:
    description: One element of C(waves) of M(campaign_plan).
    type: dict
    required: true
  runs:
    description: By node, the registered result of M(training_runs).
    type: dict
    required: true
  facts:
    description: The registered results of training_log_facts, one a repeat of the wave.
    type: list
    elements: dict
    required: true
  skipped:
    description: Logs of repeats that were recorded as skipped since the waves were planned.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Record the wave
  repeat_record:
    campaign: first
    session: "{{ plan.session }}"
    directory: results/first
    wave: "{{ plan.waves[0] }}"
    runs: "{{ {'node1': run} }}"
    facts: "{{ facts.results }}"
    skipped: []
"""

RETURN = r"""
records:
  description: One a repeat of the wave, in its order; C(throughput) is null where there is none.
  type: list
  elements: dict
  returned: always
  sample:
    - log: logs/pytorch/bz4/1n1g/r50_b4_fp32_1.log
      ending: ok
      reason: ""
      seconds: 14.2
      disturbances: []
      throughput: 24.13
      unit: images/s
skipped_logs:
  description: O(skipped), and the logs of the repeats that this wave's endings made skipped.
  type: list
  elements: str
  returned: always
  sample: []
"""
