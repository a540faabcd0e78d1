"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_job
short_description: Submit the Slurm job that holds the nodes of a campaign
description:
  - An action plugin that runs on the controller. It renders a batch script that holds the nodes and
    computes nothing, asks Slurm whether it would take it (C(sbatch --test-only)), and submits it.
  - It does not wait for the nodes; M(slurm_nodes) does.
  - The callback C(allocations) cancels the job when ansible-playbook ends.
options:
  campaign:
    description:
      - The campaign, by which the job is called. One that is continued asks for the nodes that it
        was planned on, whatever O(options) say. Empty where the campaign has no name yet.
    type: str
    default: ""
  results_dir:
    description: Folder of the campaigns on the controller.
    type: path
    required: true
  options:
    description: The options of the job, by the names of role C(slurm) without C(slurm_).
    type: dict
    default: {}
  again:
    description:
      - The hosts of a job before this one by their names in the campaign. The job asks for them
        again, and for others instead of those that O(unfit) or O(options) exclude.
    type: dict
    default: {}
  unfit:
    description: Hosts to exclude beside those of O(options).
    type: list
    elements: str
    default: []
  cancel:
    description: A job to cancel; nothing else is done.
    type: str
    default: ""
  topology:
    description:
      - The topologies of the campaign, which say the number of nodes where O(options) does not.
    type: raw
  job:
    description: An allocation to use instead; empty to submit a job.
    type: str
    default: ""
  ask_only:
    description: Whether to return the nodes that Slurm would choose, and submit nothing.
    type: bool
    default: false
  minutes:
    description:
      - Time limit where O(options) have none; it is left out where Slurm refuses it. 0 for none.
    type: int
    default: 0
  mpi:
    description: By what srun starts MPI systems; empty for pmix, or pmi2 where there is no pmix.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Asks Slurm whether it would take the job; submits nothing.
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Ask for four nodes for two hours
  slurm_job:
    campaign: monday
    results_dir: results
    options:
      nodes: 4
      partition: gpu
      time: 2h
"""

RETURN = r"""
job:
  description: The id of the job; empty in check mode.
  type: str
  returned: success
  sample: "4711"
own:
  description: Whether the job was submitted here.
  type: bool
  returned: success
  sample: true
cancelled:
  description: The job that was cancelled.
  type: str
  returned: with O(cancel)
  sample: "4711"
nodes:
  description:
    - The nodes that Slurm would choose, by name, address, CPUs, GPUs (at most those that the job
      asks for), memory in MiB, and state.
  type: list
  elements: dict
  returned: with O(ask_only)
  sample: []
allocation:
  description: C(only_asked) is there and true in check mode, in which there will be no nodes.
  type: dict
  returned: success
  sample: {}
srun:
  description:
    - The C(path) of srun, by what it starts MPI systems (C(mpi), empty for not at all), and whether
      it starts C(containers).
  type: dict
  returned: except in check mode and with O(cancel)
  sample: {path: /usr/bin/srun, mpi: pmix, containers: false}
text:
  description: The batch script, what Slurm says about it, and the line of a step on each node.
  type: str
  returned: in check mode
  sample: "#!/bin/sh"
"""
