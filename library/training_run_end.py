#!/usr/bin/python
"""Waits until a repeat has ended on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_run_end
short_description: Wait until a repeat has ended on this node
description:
  - The supervisor ends a repeat whose controller closed the connection. If processes ignore SIGTERM
    that takes some seconds, in which the next repeat must not start, because its ranks could
    connect to the old ones.
  - This module ends no processes.
options:
  run:
    description: Path of the repeat's log on the node without C(.log).
    type: path
    required: true
  work_dir:
    description: Scalebench's working folder on the node.
    type: path
    required: true
  patience:
    description: Maximum time to wait, in seconds.
    type: float
    default: 60
attributes:
  check_mode:
    support: full
    description: Does not wait.
"""

EXAMPLES = r"""
- name: Wait for a cancelled repeat
  training_run_end:
    work_dir: /var/tmp/scalebench
    run: /var/tmp/scalebench/runs/mine/pytorch/bz128/2n8g/r50_b128_fp32_1
"""

RETURN = r"""
ended:
  description: Whether no process of the repeat is left.
  type: bool
  returned: always
  sample: true
log:
  description: Path of the log on the node; null if there is none.
  type: str
  returned: always
  sample: /var/tmp/scalebench/runs/mine/pytorch/bz128/2n8g/r50_b128_fp32_1.log
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import has_ended


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "run": {"type": "path", "required": True},
            "work_dir": {"type": "path", "required": True},
            "patience": {"type": "float", "default": 60},
        },
        supports_check_mode=True,
    )
    args = module.params
    patience = 0 if module.check_mode else args["patience"]
    log = args["run"] + ".log"
    module.exit_json(
        changed=False,
        ended=has_ended(args["work_dir"], args["run"], patience),
        log=log if os.path.exists(log) else None,
    )


if __name__ == "__main__":
    main()
