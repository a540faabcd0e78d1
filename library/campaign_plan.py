"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: campaign_plan
short_description: Check the options of a campaign, plan its repeats, find what is still to run
description:
  - An action plugin on the controller. Without O(nodes) it checks the options and the benchmark
    files and ends.
  - With O(nodes) it expands the matrix, writes C(plan.json) into a new campaign's folder, or holds
    the plan of a campaign that is already there against the one asked for.
  - A repeat is missing until its C(.run.json) says ok. One that ended otherwise runs again when the
    campaign is continued, and within one run of the playbook (O(session)) as O(retry) says. Its
    record and log are kept as C(.attempt1.json) and C(.attempt1.out).
  - A repeat that cannot run here, or whose smaller batch ran out of memory, is recorded as
    unavailable or skipped.
options:
  variables:
    description: The variables the user gave; options are read, misspelt ones refused.
    type: dict
    required: true
  known:
    description: Names of variables that something reads, so that they are not taken for misspelt.
    type: list
    elements: str
    default: []
  benchmarks_dir:
    description: Folder of the benchmark files.
    type: path
    required: true
  results_dir:
    description: Folder of all campaigns.
    type: path
    required: true
  campaign:
    description: Its name, which is its folder below O(results_dir); empty names it after the time.
    type: str
    default: ""
  session:
    description: What an earlier call in this run of the playbook returned; empty for the first.
    type: str
    default: ""
  retry:
    description:
      - Which endings are tried again (C(endings)), in how many C(attempts) in all, and after how
        many failures in a row nothing is (C(give_up_after)).
    type: dict
    default: {}
  requeue:
    description: How often a repeat whose measurement was disturbed runs again.
    type: int
    default: 0
  memory_mib:
    description: Memory that each process of a repeat may take, in MiB; 0 for no limit.
    type: int
    default: 0
  free_mib:
    description: Room that must be left for results, in MiB.
    type: int
    default: 0
  nodes:
    description: By node name, in seating order, what the launchers need to know of it.
    type: dict
attributes:
  check_mode:
    support: full
    description: Plans and writes nothing.
"""

EXAMPLES = r"""
- name: Check the options before anything is contacted
  campaign_plan:
    variables: {precision: amp}
    benchmarks_dir: benchmarks
    results_dir: results
    campaign: first
"""

RETURN = r"""
campaign:
  description: The campaign's name.
  type: str
  returned: always
  sample: first
directory:
  description: The campaign's folder.
  type: str
  returned: with nodes
  sample: results/first
cells:
  description: The cells of the plan, with the command of every node.
  type: list
  elements: dict
  returned: with nodes
repeats:
  description: Number of repeats planned.
  type: int
  returned: with nodes
  sample: 9
missing:
  description: Number of repeats to run.
  type: int
  returned: with nodes
  sample: 9
session:
  description: The name of this run of the playbook.
  type: str
  returned: with nodes
  sample: "2026-11-21T03:12:08.123456+00:00"
waves:
  description:
    - What to run, in order. The C(repeats) of a wave run at the same time, on disjoint nodes or
      devices; C(shares) has by node the list of what M(training_runs) does there; C(seconds) is
      the expected time.
  type: list
  elements: dict
  returned: with nodes
packing:
  description: How repeats share the cluster, none or nodes.
  type: str
  returned: with nodes
  sample: none
not_run:
  description: C(log), C(ending) and C(reason) of the repeats that were given up untried.
  type: list
  elements: dict
  returned: with nodes
remarks:
  description: In words, what was decided since the last call.
  type: list
  elements: str
  returned: with nodes
lower_bound:
  description: Seconds below which no order of these repeats can come.
  type: float
  returned: with nodes
  sample: 181.0
seconds:
  description: Expected time of all waves.
  type: float
  returned: with nodes
  sample: 190.5
measured:
  description: How many of the missing repeats have an estimate from earlier campaigns.
  type: int
  returned: with nodes
  sample: 9
frameworks:
  description: The frameworks of the benchmarks asked for.
  type: list
  elements: str
  returned: always
  sample: [pytorch]
"""
