"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: campaign_plan
short_description: Check the options of a campaign, plan its repeats, find those still missing
description:
  - An action plugin on the controller. Without O(nodes) it checks the options and the benchmark
    files and ends.
  - With O(nodes) it expands the matrix, writes C(plan.json) into a new campaign's folder, or holds
    the plan of a campaign that is already there against the one asked for.
  - A repeat is missing until its C(.run.json) says ok. One that ended otherwise is kept as
    C(.attempt1.json) and C(.attempt1.out) when the campaign is continued.
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
  description: The repeats to run, in order.
  type: list
  elements: dict
  returned: with nodes
seconds:
  description: Expected time of the missing repeats.
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
