#!/usr/bin/python
"""Door to MU node.runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_run_end
short_description: Wait until a repeat has ended on this node
description:
  - A repeat whose controller closed the connection is ended by its supervisor. Where processes
    ignore SIGTERM that takes some seconds, in which the next repeat must not begin; its ranks could
    meet the old ones.
  - Ends nothing itself.
options:
  run:
    description: The repeat, as the path of its log without C(.log).
    type: path
    required: true
  work_dir:
    description: Scalebench's folder on the node.
    type: path
    required: true
  patience:
    description: Seconds to wait at most.
    type: float
    default: 60
attributes:
  check_mode:
    support: full
    description: Waits for nothing.
"""

EXAMPLES = r"""
- name: Wait for a repeat that was given up
  training_run_end:
    work_dir: /var/tmp/scalebench
    run: /var/tmp/scalebench/runs/mine/pytorch/bz128/2n8g/r50_b128_fp32_1
"""

RETURN = r"""
ended:
  description: Whether nothing of it is left.
  type: bool
  returned: always
  sample: true
log:
  description: Path of its log on the node; null where it has none.
  type: str
  returned: always
  sample: /var/tmp/scalebench/runs/mine/pytorch/bz128/2n8g/r50_b128_fp32_1.log
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import has_ended


def main() -> None:
    """Wait."""
    module = AnsibleModule(
        argument_spec={
            "run": {"type": "path", "required": True},
            "work_dir": {"type": "path", "required": True},
            "patience": {"type": "float", "default": 60},
        },
        supports_check_mode=True,
    )
    given = module.params
    patience = 0 if module.check_mode else given["patience"]
    log = given["run"] + ".log"
    module.exit_json(
        changed=False,
        ended=has_ended(given["work_dir"], given["run"], patience),
        log=log if os.path.exists(log) else None,
    )


if __name__ == "__main__":
    main()
