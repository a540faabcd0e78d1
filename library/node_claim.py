#!/usr/bin/python
"""Claims a node for a campaign, or releases it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_claim
short_description: Claim a node for a campaign, or release it
description:
  - Only one campaign at a time may use a node. The claim is a file on the node that names the
    ansible-playbook process that holds it.
  - If the holder ran on the same controller and has ended, its claim is taken over, and processes
    left by its repeats are ended. They are identified by a variable in their environment, never by
    name. The action plugin of the same name checks whether the holder has ended.
  - If the holder is alive, or runs on another controller, the task fails and names it.
options:
  work_dir:
    description: Scalebench's working folder on the node.
    type: path
    required: true
  state:
    description: Whether to claim the node or to release it.
    type: str
    choices: [taken, released]
    default: taken
  campaign:
    description: Name of the campaign.
    type: str
    required: true
  user:
    description: The account that owns O(work_dir), where root claims it; another needs root.
    type: str
  existing:
    description: Claim O(work_dir) only if it exists; without it no campaign can hold the node.
    type: bool
    default: false
  system_dir:
    description:
      - Folder for root only that is claimed beside O(work_dir), which a node that was never
        provisioned does not have.
    type: path
    default: ""
  owner:
    description:
      - Name of the controller that provisions the node. The first one owns it, and others are
        refused. Empty for what changes no software of the node, as a campaign.
    type: str
    default: ""
  take_over:
    description: Whether O(owner) takes the node from another controller.
    type: bool
    default: false
  holder:
    description: The claiming ansible-playbook; set by the action plugin.
    type: dict
  dead:
    description: A claim whose ansible-playbook has ended; set by the action plugin.
    type: dict
  patience:
    description: Seconds to wait for a repeat that is ending because its controller is gone.
    type: float
    default: 20
attributes:
  check_mode:
    support: full
    description: Reads the claim; changes nothing.
"""

EXAMPLES = r"""
- name: Claim the node
  node_claim:
    work_dir: /var/tmp/scalebench
    campaign: first
"""

RETURN = r"""
held_by:
  description: The claim of another campaign; null if the node was free.
  type: dict
  returned: always
  sample: null
held_in:
  description: The folder of the claim of another campaign.
  type: str
  returned: if another campaign holds the node
  sample: /var/tmp/scalebench
holds:
  description: Whether the node is held afterwards by this ansible-playbook.
  type: bool
  returned: success
  sample: true
owned_by:
  description: The controller that owns the node; empty if O(owner) is not given.
  type: str
  returned: success
  sample: anna@head:/home/anna/scalebench/.state
ended:
  description: Processes of an earlier campaign that were ended.
  type: list
  elements: str
  returned: always
  sample: ["4242 python train.py"]
"""

import contextlib
import os
import time
from typing import ContextManager, List, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.account import acting_as
from ansible_collections.scalebench.core.plugins.module_utils.node.claim import (
    held,
    own,
    release,
    take,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.durable import make_folder
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import (
    busy_with,
    end_strays,
    marked,
)


def end_leftovers(module: AnsibleModule) -> list:
    """Wait for a repeat with a supervisor, then end processes without one; return these."""
    work_dir = module.params["work_dir"]
    end = time.monotonic() + module.params["patience"]
    holder = busy_with(work_dir)
    while holder and time.monotonic() < end:
        time.sleep(0.2)
        holder = busy_with(work_dir)
    if holder:
        pids = sorted(process.pid for process, _ in marked(work_dir))
        module.fail_json(
            msg=f"{holder} is running here, started by another ansible-playbook: wait for it, or"
            f" end it by ending its processes here ({', '.join(map(str, pids[:8])) or 'none yet'})"
        )
    return [f"{process.pid} {process.command}" for process in end_strays(work_dir)]


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "work_dir": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["taken", "released"], "default": "taken"},
            "campaign": {"type": "str", "required": True},
            "user": {"type": "str"},
            "existing": {"type": "bool", "default": False},
            "system_dir": {"type": "path", "default": ""},
            "owner": {"type": "str", "default": ""},
            "take_over": {"type": "bool", "default": False},
            "holder": {"type": "dict"},
            "dead": {"type": "dict"},
            "patience": {"type": "float", "default": 20},
        },
        supports_check_mode=True,
    )
    args = module.params
    try:
        owner = foreign_owner(args)
        if owner:
            result = {"changed": False, "held_by": None, "holds": False, "ended": []}
        else:
            result = change_all(module, {"campaign": args["campaign"], **(args["holder"] or {})})
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result, owned_by=owner or args["owner"])


def places(args: dict) -> List[Tuple[str, ContextManager[None]]]:
    """Return the folders that are claimed, and as which account.

    First the one for root, which decides between runs of provision.yml: whoever is refused there
    must not hold the other for a moment, in which the holder claims it as the account.
    """
    found: List[Tuple[str, ContextManager[None]]] = []
    if args["system_dir"]:
        found.append((args["system_dir"], contextlib.nullcontext()))
    if not args["existing"] or os.path.isdir(args["work_dir"]):
        user = args["user"]
        found.append((args["work_dir"], acting_as(user) if user else contextlib.nullcontext()))
    return found


def foreign_owner(args: dict) -> str:
    """Return the controller that owns the node, if that is another; else nothing."""
    for place, account in places(args) if args["owner"] and not args["take_over"] else ():
        with account:
            owner = own(place, args["owner"], False, True)
        if owner != args["owner"]:
            return owner
    return ""


def change_all(module: AnsibleModule, claim: dict) -> dict:
    """Claim or release all folders; return the result. Of a claim that is refused nothing stays."""
    args = module.params
    result = {"changed": False, "held_by": None, "holds": False, "ended": []}
    asked = 0
    for place, account in places(args):
        asked += 1
        with account:
            done = change(module, place, claim)
        ended = [*result["ended"], *done["ended"]]
        result = {**done, "changed": done["changed"] or result["changed"], "ended": ended}
        if done["held_by"]:
            result["held_in"] = place
            break
    for place, account in places(args)[:asked] if not module.check_mode else ():
        with account:
            if result["held_by"]:
                release(place, claim)
            # Only with claims that were granted.
            elif result["holds"] and args["owner"]:
                own(place, args["owner"], args["take_over"])
    return result


def change(module: AnsibleModule, place: str, claim: dict) -> dict:
    """Claim or release a folder; return the result."""
    args = module.params
    other, ended = None, []
    if module.check_mode:
        return {"changed": False, "held_by": held(place), "holds": False, "ended": []}
    if args["state"] == "released":
        # Otherwise processes of a killed supervisor would run until the next campaign.
        if os.path.isdir(place) and take(place, claim) is None and list(marked(place)):
            ended = end_leftovers(module)
        return {
            "changed": release(place, claim),
            "held_by": None,
            "holds": False,
            "ended": ended,
        }
    if place == args["system_dir"]:
        make_folder(place, 0o700)
    other = take(place, claim, args["dead"])
    if other is None and list(marked(place)):
        ended = end_leftovers(module)
    return {"changed": bool(ended), "held_by": other, "holds": other is None, "ended": ended}


if __name__ == "__main__":
    main()
