#!/usr/bin/python
"""Create a folder that no other user can change; see node.protected in module_utils."""

from __future__ import annotations

DOCUMENTATION = r"""
module: protected_folder
short_description: Create a folder that no other user can change
description:
  - For what is downloaded, unpacked and run as root. M(ansible.builtin.file) takes over a folder
    that somebody else made first, as anybody can in C(/var/tmp).
  - Fails if another user owns the folder, one above it or a link on its path, or can write there.
options:
  path:
    description: The folder, and those above it, created with mode 0755 where they are missing.
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Verifies what exists and returns whether it would create the folder.
"""

EXAMPLES = r"""
- name: Create a folder for downloads
  protected_folder:
    path: /var/cache/scalebench
"""

RETURN = r"""
path:
  description: The folder's absolute path.
  type: str
  returned: success
  sample: /var/cache/scalebench
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.protected import make_protected


def main() -> None:
    """Create the folder, or verify it."""
    module = AnsibleModule(
        argument_spec={"path": {"type": "path", "required": True}}, supports_check_mode=True
    )
    path = os.path.abspath(module.params["path"])
    changed = not os.path.isdir(path)
    try:
        make_protected(path, only_verify=module.check_mode)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"{path}: {error}")
    module.exit_json(changed=changed, path=path)


if __name__ == "__main__":
    main()
