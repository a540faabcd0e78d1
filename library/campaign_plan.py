"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: campaign_plan
short_description: Check the options of a campaign, plan it and list the repeats to run
description:
  - An action plugin that runs on the controller. Without O(nodes) it only checks the options and
    the benchmark files.
  - With O(nodes) it expands the matrix. It writes C(plan.json) for a new campaign, and fails if the
    plan of an existing campaign differs.
  - A repeat is missing until its C(.run.json) has the ending ok. One with another ending runs again
    when the campaign is continued, and within one run of the playbook (O(session)) according to
    O(retry). Record and log of the earlier attempt are kept as C(.attempt1.json) and
    C(.attempt1.out).
  - A repeat that cannot run on these nodes is recorded as unavailable, and one whose smaller batch
    size ran out of memory as skipped.
options:
  variables:
    description:
      - The variables given with C(-e). Those that are options count before the variables of
        inventory and play that role C(campaign) documents; misspelt ones are refused.
    type: dict
    required: true
  known:
    description: Names that are neither options nor variables of roles, and not misspelt.
    type: list
    elements: str
    default: []
  benchmarks_dir:
    description: Folder of the benchmark files.
    type: path
    required: true
  workload_sources:
    description: Folders on the controller of which role workload copies the trainers.
    type: list
    elements: path
    default: []
  results_dir:
    description: Folder of all campaigns.
    type: path
    required: true
  campaign:
    description: Name of the campaign, its folder below O(results_dir); empty for the current time.
    type: str
    default: ""
  session:
    description:
      - The RV(session) of an earlier call in this run of the playbook; empty for the first call.
    type: str
    default: ""
  retry:
    description:
      - The endings to retry (C(endings)), the number of C(attempts) in all, and the number of
        failures in a row after which nothing is retried (C(give_up_after)).
    type: dict
    default: {}
  requeue:
    description: How often to run a repeat again whose measurement was disturbed.
    type: int
    default: 0
  accept_changes:
    description:
      - Whether to continue a campaign whose trainers or frameworks changed. The changes are kept in
        C(plan.json).
    type: bool
    default: false
  memory_mib:
    description: By node, the memory limit of each process of a repeat, in MiB; 0 for no limit.
    type: dict
    default: {}
  free_mib:
    description: Free space required for results, in MiB.
    type: int
    default: 0
  nodes:
    description: By node name, in rank order, the facts that the launchers need.
    type: dict
  carrier:
    description: What reaches the nodes, V(ssh) or another; cells that it cannot start are refused.
    type: str
    default: ssh
  srun:
    description:
      - With carrier V(slurm), by what its srun starts MPI systems (C(mpi), empty for not at all),
        and whether it starts C(containers).
    type: dict
    default: {}
  offered:
    description:
      - Without O(nodes), C(name) and C(gpus) of the nodes that the carrier would give. Cells that
        it cannot start on them are refused, and RV(minutes) is returned.
    type: list
    elements: dict
    default: []
  cpu_processes:
    description: The devices of a node of O(offered) without GPUs.
    type: int
    default: 1
  hosts:
    description:
      - What the nodes are, by name, where the carrier may give others. One with another name stands
        in for the planned one, if its hardware is the same.
    type: dict
    default: {}
  lost:
    description:
      - The nodes of O(nodes) that do not answer any more, with the reason. Their repeats are
        unavailable until a call without them.
    type: dict
    default: {}
  seconds_left:
    description: For how long the carrier has the nodes, in seconds; 0 for no limit.
    type: int
    default: 0
  acceptance:
    description:
      - C(file) and C(content) of an acceptance. The campaign must be the one that it states; it is
        kept beside the plan. Empty for none.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Plans; writes nothing.
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
minutes:
  description:
    - A time limit in minutes for what is missing of the campaign, with a margin; null where the
      time of a repeat is not known.
  type: int
  returned: without O(nodes)
  sample: 25
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
nodes:
  description: The fingerprints of the nodes by name, as the plan keeps them.
  type: dict
  returned: with nodes
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
containers:
  description: Names of the containers that cells run in, for M(preflight_facts).
  type: list
  elements: str
  returned: with nodes
  sample: [scalebench-tensorflow_ngc-upstream]
session:
  description: ID of this run of the playbook.
  type: str
  returned: with nodes
  sample: "2026-11-21T03:12:08.123456+00:00"
waves:
  description:
    - The repeats to run, in order. The C(repeats) of a wave run at the same time, on disjoint nodes
      or devices; C(shares) has the arguments of M(training_runs) by node; C(seconds) is the
      expected time.
  type: list
  elements: dict
  returned: with nodes
packing:
  description: How repeats share the cluster - none, nodes or devices.
  type: str
  returned: with nodes
  sample: none
not_run:
  description: C(log), C(ending) and C(reason) of the repeats that will not run.
  type: list
  elements: dict
  returned: with nodes
text:
  description:
    - The plan as text - the cells, their order, the expected time, and the command of every node
      for every cell.
  type: str
  returned: with nodes
remarks:
  description: Messages about decisions since the last call.
  type: list
  elements: str
  returned: with nodes
lower_bound:
  description: Lower bound of the time of any schedule of these repeats, in seconds.
  type: float
  returned: with nodes
  sample: 181.0
seconds:
  description: Expected time of all waves, in seconds.
  type: float
  returned: with nodes
  sample: 190.5
measured:
  description: Number of missing repeats whose time is estimated from earlier campaigns.
  type: int
  returned: with nodes
  sample: 9
workloads:
  description:
    - The trainers of the requested benchmarks by their paths below C(workloads/), each with the
      benchmark file and key that name it, and whether it is in O(workload_sources).
  type: dict
  returned: always
  sample:
    resnet50/train_pytorch.py:
      named_by: "benchmarks/pytorch.yml: recipes.portable.workload"
      copied: true
frameworks:
  description: The frameworks of the requested benchmarks.
  type: list
  elements: str
  returned: always
  sample: [pytorch]
"""
