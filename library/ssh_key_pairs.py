#!/usr/bin/python
"""Create missing ssh key pairs in a private folder."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_key_pairs
short_description: Create missing ssh key pairs in a private folder
description:
  - Creates the folder (mode 0700) and the missing pairs in it; returns the public keys.
  - Private keys never leave the host.
options:
  folder:
    description: Absolute path; required without O(each).
    type: path
  names:
    description:
      - Names in O(folder) that end in the type of the key, C(_ed25519) or C(_rsa).
      - Absolute paths are allowed, and their folders are made private too. Pairs of such names in
        O(folder), where version 0.1 had the host keys, are removed.
      - Required with O(folder), as is O(comment).
    type: list
    elements: str
  comment:
    description: Comment of the public keys.
    type: str
  renew:
    description: Whether to replace existing pairs.
    type: bool
    default: false
  own_folder:
    description:
      - A folder above, which must be of this machine alone. A file C(node.json) in it marks whose
        it is. Fails where another machine has marked it, as on a file server.
    type: path
  user:
    description: The account that they belong to; another than the connection's needs root.
    type: str
  each:
    description:
      - For several folders in one call, a mapping of O(folder), O(names), O(comment) and
        O(own_folder) for each. The names are absolute paths, by which RV(public) has the keys.
    type: list
    elements: dict
attributes:
  check_mode:
    support: full
    description: Returns the pairs that it would create, and the public keys that exist.
"""

EXAMPLES = r"""
- name: Create a host key and a user key
  ssh_key_pairs:
    folder: /opt/scalebench/sshd
    names: [/opt/scalebench/sshd_host/host_ed25519, id_ed25519]
    comment: node1

- name: Create the user keys of two nodes of this machine
  ssh_key_pairs:
    each:
      - {folder: /srv/node1/sshd, names: [/srv/node1/sshd/id_ed25519], comment: node1}
      - {folder: /srv/node2/sshd, names: [/srv/node2/sshd/id_ed25519], comment: node2}
"""

RETURN = r"""
public:
  description: The public key of every pair by name; empty if check mode did not create it.
  type: dict
  returned: always
  sample: {id_ed25519: ssh-ed25519 AAAAC3Nz node1}
made:
  description: The pairs that were created, or would be in check mode.
  type: list
  elements: str
  returned: always
  sample: [id_ed25519]
"""

import contextlib
from typing import Any, Dict, List

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.account import acting_as
from ansible_collections.scalebench.core.plugins.module_utils.node.own_folder import keep_own
from ansible_collections.scalebench.core.plugins.module_utils.node.ssh import SshKeys

PAIRS = {
    "folder": {"type": "path"},
    "names": {"type": "list", "elements": "str"},
    "comment": {"type": "str"},
}
OWN_FOLDER = {"own_folder": {"type": "path"}}


def make(module: AnsibleModule, wanted: Dict[str, Any], done: Dict[str, Any]) -> None:
    """Create the missing pairs of a folder, and add to what was done."""
    keys = SshKeys(wanted["folder"])
    if wanted["own_folder"]:
        keep_own(wanted["own_folder"], only_verify=module.check_mode)
    missing = wanted["names"] if module.params["renew"] else keys.missing(wanted["names"])
    opened = keys.make_private(wanted["names"], only_verify=module.check_mode)
    misplaced = keys.remove_misplaced(wanted["names"], only_verify=module.check_mode)
    for name in [] if module.check_mode else missing:
        keys.make(name, name.rpartition("_")[2], wanted["comment"])
    done["changed"] = done["changed"] or bool(missing) or opened or misplaced
    done["made"] += missing
    done["public"].update({name: keys.public(name) for name in wanted["names"]})


def main() -> None:
    """Create the missing pairs."""
    module = AnsibleModule(
        argument_spec={
            **PAIRS,
            **OWN_FOLDER,
            "renew": {"type": "bool", "default": False},
            "user": {"type": "str"},
            "each": {
                "type": "list",
                "elements": "dict",
                "options": {
                    **{name: {**option, "required": True} for name, option in PAIRS.items()},
                    **OWN_FOLDER,
                },
            },
        },
        required_one_of=[["folder", "each"]],
        mutually_exclusive=[["folder", "each"]],
        required_by={"folder": ["names", "comment"]},
        supports_check_mode=True,
    )
    user = module.params["user"]
    every: List[Dict[str, Any]] = module.params["each"] or [module.params]
    done: Dict[str, Any] = {"changed": False, "public": {}, "made": []}
    folder = ""
    try:
        with acting_as(user) if user else contextlib.nullcontext():
            for wanted in every:
                folder = wanted["folder"]
                make(module, wanted, done)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"{folder}: {error}")
    module.exit_json(**done)


if __name__ == "__main__":
    main()
