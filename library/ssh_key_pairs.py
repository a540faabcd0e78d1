#!/usr/bin/python
"""Door to MU node.ssh_keys."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_key_pairs
short_description: Keep ssh key pairs in a private folder
description:
  - Makes the folder (mode 0700) and the pairs that are missing in it; returns the public halves.
  - Private keys never leave the host.
options:
  folder:
    description: Absolute path.
    type: path
    required: true
  names:
    description: File names; what follows the last C(_) is the kind of key, C(ed25519) or C(rsa).
    type: list
    elements: str
    required: true
  comment:
    description: Comment of the public keys.
    type: str
    required: true
  renew:
    description: Whether to replace pairs that are there.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Tells which pairs it would make, and returns those that are there.
"""

EXAMPLES = r"""
- name: Make a host key and a user key
  ssh_key_pairs:
    folder: /opt/scalebench/sshd
    names: [host_ed25519, id_ed25519]
    comment: node1
"""

RETURN = r"""
public:
  description: The public half of every pair by name, empty where check mode made none.
  type: dict
  returned: always
  sample: {id_ed25519: ssh-ed25519 AAAAC3Nz node1}
made:
  description: The pairs that were made.
  type: list
  elements: str
  returned: always
  sample: [id_ed25519]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.ssh import SshKeys


def main() -> None:
    """Make what is missing."""
    module = AnsibleModule(
        argument_spec={
            "folder": {"type": "path", "required": True},
            "names": {"type": "list", "elements": "str", "required": True},
            "comment": {"type": "str", "required": True},
            "renew": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    keys = SshKeys(wanted["folder"])
    missing = wanted["names"] if wanted["renew"] else keys.missing(wanted["names"])
    opened = not keys.is_private()
    if not module.check_mode:
        try:
            keys.make_private()
            for name in missing:
                keys.make(name, name.rpartition("_")[2], wanted["comment"])
        except (OSError, ValueError) as error:
            module.fail_json(msg=f"{wanted['folder']}: {error}")
    module.exit_json(
        changed=bool(missing) or opened,
        public={name: keys.public(name) for name in wanted["names"]},
        made=missing,
    )


if __name__ == "__main__":
    main()
