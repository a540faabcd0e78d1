#!/usr/bin/python
"""Door to MU node.runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: stray_runs
short_description: End what earlier repeats left running on this node
description:
  - A repeat whose supervisor lives is waited for, since it ends by itself when its controller is
    gone; one that goes on belongs to another campaign, and the task fails naming it.
  - Processes are known by a mark in their environment, never by their name.
options:
  work_dir:
    description: Scalebench's folder on the node.
    type: path
    required: true
  patience:
    description: Seconds to wait for a repeat that is attended.
    type: float
    default: 20
attributes:
  check_mode:
    support: full
    description: Tells whether it would end something.
"""

EXAMPLES = r"""
- name: End what an interrupted campaign left
  stray_runs:
    work_dir: /var/tmp/scalebench
"""

RETURN = r"""
ended:
  description: The processes that were ended.
  type: list
  elements: str
  returned: always
  sample: ["4242 python train.py"]
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import (
    busy_with,
    end_strays,
    marked,
)


def main() -> None:
    """Wait for what is attended, end what is not."""
    module = AnsibleModule(
        argument_spec={
            "work_dir": {"type": "path", "required": True},
            "patience": {"type": "float", "default": 20},
        },
        supports_check_mode=True,
    )
    work_dir = module.params["work_dir"]
    end = time.monotonic() + module.params["patience"]
    holder = busy_with(work_dir)
    while holder and time.monotonic() < end and not module.check_mode:
        time.sleep(0.2)
        holder = busy_with(work_dir)
    if holder:
        module.fail_json(
            msg=f"busy with {holder}, which another ansible-playbook attends: wait for it or end it"
        )
    try:
        strays = [process for process, _ in marked(work_dir)]
        if not module.check_mode:
            strays = end_strays(work_dir)
    except ValueError as error:
        module.fail_json(msg=str(error))
    ended = [f"{process.pid} {process.command}" for process in strays]
    module.exit_json(changed=bool(ended), ended=ended)


if __name__ == "__main__":
    main()
