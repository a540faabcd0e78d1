"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: repeat_record
short_description: Write the run record of one repeat
description:
  - An action plugin on the controller; it makes one ending out of what the nodes and the log say
    and writes C(<log without .log>.run.json), the ledger by which a campaign is resumed.
  - A repeat that did not end well is recorded and is no failure of the task.
options:
  campaign:
    description: The campaign's name.
    type: str
    required: true
  directory:
    description: The campaign's folder.
    type: path
    required: true
  repeat:
    description: One element of C(missing) of M(campaign_plan).
    type: dict
    required: true
  runs:
    description: By node, the registered result of training_run.
    type: dict
    required: true
  facts:
    description: The registered result of training_log_facts.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Record the repeat
  repeat_record:
    campaign: first
    directory: results/first
    repeat: "{{ plan.missing[0] }}"
    runs: "{{ {'node1': run} }}"
    facts: "{{ facts }}"
"""

RETURN = r"""
ending:
  description: How the repeat ended.
  type: str
  returned: always
  sample: ok
reason:
  description: Why, where it did not end well.
  type: str
  returned: always
  sample: "node2: exit code 1: RuntimeError"
throughput:
  description: The measured throughput in RV(unit); null where there is none.
  type: float
  returned: always
  sample: 24.13
unit:
  description: The unit of the throughput.
  type: str
  returned: always
  sample: images/s
seconds:
  description: Wall time of the slowest node, in seconds.
  type: float
  returned: always
  sample: 27.1
path:
  description: Where the record lies.
  type: str
  returned: always
"""
