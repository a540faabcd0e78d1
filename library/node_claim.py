#!/usr/bin/python
"""Door to MU node.claim and node.runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_claim
short_description: Take a node for a campaign, or give it back
description:
  - One campaign at a time may use a node. The claim is a file on the node; it names the
    ansible-playbook that holds it and ends with it, or is given back.
  - A claim of an ansible-playbook on the same controller that has ended is taken over, and what
    its repeats left running is ended. Those are known by a mark in their environment, never by
    their name. The action plugin of the same name looks whether it has ended.
  - A claim of a living one, or of another controller, fails the task, and names it.
options:
  work_dir:
    description: Scalebench's folder on the node.
    type: path
    required: true
  state:
    description: Whether to take the node or to give it back.
    type: str
    choices: [taken, released]
    default: taken
  campaign:
    description: The campaign's name.
    type: str
    required: true
  holder:
    description: The ansible-playbook; filled in by the action plugin.
    type: dict
  dead:
    description: A claim whose ansible-playbook has ended; filled in by the action plugin.
    type: dict
  patience:
    description: Seconds to wait for a repeat that ends because its controller has gone.
    type: float
    default: 20
attributes:
  check_mode:
    support: full
    description: Looks and takes nothing.
"""

EXAMPLES = r"""
- name: Take the node
  node_claim:
    work_dir: /var/tmp/scalebench
    campaign: first
"""

RETURN = r"""
held_by:
  description: The claim that keeps this one out; null where the node was free.
  type: dict
  returned: always
  sample: null
ended:
  description: The processes of an earlier campaign that were ended.
  type: list
  elements: str
  returned: always
  sample: ["4242 python train.py"]
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.claim import held, release, take
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import (
    busy_with,
    end_strays,
    marked,
)


def end_what_is_left(module: AnsibleModule) -> list:
    """Wait for what is attended, end what is not."""
    work_dir = module.params["work_dir"]
    end = time.monotonic() + module.params["patience"]
    holder = busy_with(work_dir)
    while holder and time.monotonic() < end:
        time.sleep(0.2)
        holder = busy_with(work_dir)
    if holder:
        module.fail_json(
            msg=f"busy with {holder}, which another ansible-playbook attends: wait for it or end it"
        )
    return [f"{process.pid} {process.command}" for process in end_strays(work_dir)]


def main() -> None:
    """Take or release."""
    module = AnsibleModule(
        argument_spec={
            "work_dir": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["taken", "released"], "default": "taken"},
            "campaign": {"type": "str", "required": True},
            "holder": {"type": "dict"},
            "dead": {"type": "dict"},
            "patience": {"type": "float", "default": 20},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    work_dir = wanted["work_dir"]
    claim = {"campaign": wanted["campaign"], **(wanted["holder"] or {})}
    other, ended = None, []
    try:
        if module.check_mode:
            other = held(work_dir)
        elif wanted["state"] == "released":
            # What a killed supervisor left behind would live until the next campaign.
            if take(work_dir, claim) is None and list(marked(work_dir)):
                ended = end_what_is_left(module)
            module.exit_json(changed=release(work_dir, claim), held_by=None, ended=ended)
        else:
            other = take(work_dir, claim, wanted["dead"])
            if other is None and list(marked(work_dir)):
                ended = end_what_is_left(module)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(ended), held_by=other, ended=ended)


if __name__ == "__main__":
    main()
