#!/usr/bin/python
"""Documentation of the action plugin training_runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_runs
short_description: Run what a node does in a wave
description:
  - An action plugin. It runs a M(training_run) for each of the repeats that the node works for, at
    the same time; more than one where repeats are packed onto disjoint devices of a node.
options:
  shares:
    description: What C(shares) of the wave, as of M(campaign_plan), has for the node.
    type: list
    elements: dict
    required: true
  campaign:
    description: The campaign's C(name), C(directory) and C(session).
    type: dict
    required: true
  work_dir:
    description: See M(training_run), as for the options below.
    type: path
    required: true
  timeout:
    description: Seconds.
    type: float
    required: true
  grace:
    description: Seconds.
    type: float
    required: true
  stall:
    description: Seconds.
    type: float
    required: true
  memory_mib:
    description: MiB.
    type: int
    required: true
  sample_interval:
    description: Seconds.
    type: float
    required: true
"""

EXAMPLES = r"""
- name: Do this node's share of a wave
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
    - By log, what M(training_run) returned; C(unreachable) and C(msg) where the node was lost.
  type: dict
  returned: always
  sample:
    logs/pytorch/bz128/1n1g/r50_b128_fp32_1.log: {ending: ok, reason: "", seconds: 27.124}
"""
