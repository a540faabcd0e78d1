"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: repeat_record
short_description: Write the run records of the repeats of one wave
description:
  - An action plugin that runs on the controller. It reads the log of each repeat as
    M(training_log_facts) does, derives the ending from it and from the results of the nodes, and
    writes C(<log without .log>.run.json). The records decide what a continued campaign still has to
    run.
  - Why a log cannot be read is recorded with the repeat.
  - A failed repeat is recorded and does not fail the task.
  - After a repeat that ran out of memory, the repeats of the same cell with a larger batch size are
    recorded as skipped.
  - A repeat that needs a node that was lost before the wave is recorded as unavailable.
options:
  campaign:
    description: Name of the campaign.
    type: str
    required: true
  session:
    description: ID of this run of the playbook, RV(campaign_plan#module:session).
    type: str
    required: true
  directory:
    description: The campaign's folder.
    type: path
    required: true
  repeats:
    description: C(repeats) of an element of RV(campaign_plan#module:waves).
    type: list
    elements: dict
    required: true
  runs:
    description:
      - By node, the registered result of M(training_runs). One with RV(training_runs#module:gone)
        is lost.
    type: dict
    required: true
  skipped:
    description: Logs of repeats recorded as skipped since the waves were planned.
    type: list
    elements: str
    default: []
  lost:
    description: Nodes lost before the wave, with the reason; repeats that need one did not run.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Record the wave
  repeat_record:
    campaign: first
    session: "{{ plan.session }}"
    directory: results/first
    repeats: "{{ plan.waves[0].repeats }}"
    runs: "{{ {'node1': run} }}"
    skipped: []
"""

RETURN = r"""
records:
  description: A summary per repeat of the wave, in order; C(throughput) is null if there is none.
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
  description: O(skipped) and the logs of the repeats that this call recorded as skipped.
  type: list
  elements: str
  returned: always
  sample: []
lost:
  description: O(lost) and the nodes that this wave lost, with the reason.
  type: dict
  returned: always
  sample: {node2: "lost at 2026-11-23T01:02:03 UTC: Connection refused"}
"""
