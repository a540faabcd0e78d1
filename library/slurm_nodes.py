"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_nodes
short_description: Wait for the nodes of a Slurm job
description:
  - An action plugin that runs on the controller. It asks C(squeue) until the job has its nodes, and
    prints its place in the queue, the reason and the expected start when one of them changes.
  - Where Slurm does not answer it is asked again. Fails when the job ends before it had nodes.
options:
  job:
    description: The number of the job; of one of an array its own (C(squeue --format=%A)).
    type: str
    required: true
  own:
    description: Whether to cancel the job if ansible-playbook is killed meanwhile.
    type: bool
    default: false
  campaign:
    description:
      - The campaign, whose nodes may be continued on others. A node that stands in for one that is
        gone has the name of that one, and its own as C(host).
    type: str
    default: ""
  results_dir:
    description: Folder of the campaigns on the controller.
    type: str
    default: ""
  again:
    description: The hosts of a job before this one by name, instead of those that were planned.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Waits as well; it changes nothing.
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Wait for the nodes
  slurm_nodes:
    job: "4711"
"""

RETURN = r"""
job:
  description: The id of the job.
  type: str
  returned: success
  sample: "4711"
nodes:
  description: What Slurm knows of each node.
  type: list
  elements: dict
  returned: success
  sample:
    - name: gpu01
      host: gpu01
      address: 10.0.0.1
      cpus: 96
      gpus: 8
      memory_mib: 1031000
      state: ALLOCATED
seconds_left:
  description: Time until the job's time limit, in seconds; null where it has none.
  type: int
  returned: success
  sample: 7199
steps:
  description: The line of a step on each node, COMMAND standing for what it runs.
  type: list
  elements: str
  returned: success
  sample: [srun --jobid=4711 --overlap --nodelist=gpu01 ... /bin/sh -c COMMAND]
allocation:
  description: C(says) which nodes the job has, for the terminal.
  type: dict
  returned: success
  sample:
    says: Slurm job 4711 on gpu01 (96 CPUs, 8 GPUs, 1031000 MiB each), after 61 s in the queue
waited_seconds:
  description: Time in the queue, in seconds, as far as it was waited for here.
  type: float
  returned: success
  sample: 61.4
"""
