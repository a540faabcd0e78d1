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
    description: Absolute path.
    type: path
    required: true
  names:
    description:
      - Names in O(folder) that end in the type of the key, C(_ed25519) or C(_rsa).
      - Absolute paths are allowed, and their folders are made private too. Pairs of such names in
        O(folder), where version 0.1 had the host keys, are removed.
    type: list
    elements: str
    required: true
  comment:
    description: Comment of the public keys.
    type: str
    required: true
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

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.account import acting_as
from ansible_collections.scalebench.core.plugins.module_utils.node.own_folder import keep_own
from ansible_collections.scalebench.core.plugins.module_utils.node.ssh import SshKeys


def main() -> None:
    """Create the missing pairs."""
    module = AnsibleModule(
        argument_spec={
            "folder": {"type": "path", "required": True},
            "names": {"type": "list", "elements": "str", "required": True},
            "comment": {"type": "str", "required": True},
            "renew": {"type": "bool", "default": False},
            "own_folder": {"type": "path"},
            "user": {"type": "str"},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    keys = SshKeys(wanted["folder"])
    user = wanted["user"]
    try:
        with acting_as(user) if user else contextlib.nullcontext():
            if wanted["own_folder"]:
                keep_own(wanted["own_folder"], only_verify=module.check_mode)
            missing = wanted["names"] if wanted["renew"] else keys.missing(wanted["names"])
            opened = keys.make_private(wanted["names"], only_verify=module.check_mode)
            misplaced = keys.remove_misplaced(wanted["names"], only_verify=module.check_mode)
            for name in [] if module.check_mode else missing:
                keys.make(name, name.rpartition("_")[2], wanted["comment"])
            public = {name: keys.public(name) for name in wanted["names"]}
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"{wanted['folder']}: {error}")
    module.exit_json(changed=bool(missing) or opened or misplaced, public=public, made=missing)


if __name__ == "__main__":
    main()
