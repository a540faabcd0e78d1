#!/usr/bin/python
"""Create folders that no other user can change; see node.protected in module_utils."""

from __future__ import annotations

DOCUMENTATION = r"""
module: protected_folder
short_description: Create folders that no other user can change
description:
  - For what is downloaded, unpacked, read and run as root. M(ansible.builtin.file) takes over a
    folder that somebody else made first, as anybody can in C(/var/tmp).
  - Fails if another user owns a folder, one above it or a link on its path, or can write there.
options:
  paths:
    description: The folders, and those above, created with mode 0755 where they are missing.
    type: list
    elements: path
    required: true
  owner:
    description:
      - The account that gets the folders, not those above them, that root creates. It may own
        folders on the path, below which they are created as this account, but no links.
    type: str
    default: root
attributes:
  check_mode:
    support: full
    description: Verifies what exists and returns whether it would create a folder.
"""

EXAMPLES = r"""
- name: Create a folder for downloads
  protected_folder:
    paths: [/var/cache/scalebench]
"""

RETURN = r"""
made:
  description: The folders that were created, or would be in check mode.
  type: list
  elements: str
  returned: success
  sample: [/var/cache/scalebench]
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.account import uid_of
from ansible_collections.scalebench.core.plugins.module_utils.node.protected import make_protected


def main() -> None:
    """Create the folders, or verify them."""
    module = AnsibleModule(
        argument_spec={
            "paths": {"type": "list", "elements": "path", "required": True},
            "owner": {"type": "str", "default": "root"},
        },
        supports_check_mode=True,
    )
    made = []
    for path in map(os.path.abspath, module.params["paths"]):
        if not os.path.isdir(path):
            made.append(path)
        try:
            owner = uid_of(module.params["owner"])
            make_protected(path, only_verify=module.check_mode, owner=owner)
        except (OSError, ValueError) as error:
            module.fail_json(msg=f"{path}: {error}")
    module.exit_json(changed=bool(made), made=made)


if __name__ == "__main__":
    main()
