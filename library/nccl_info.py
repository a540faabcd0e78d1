#!/usr/bin/python
"""Door to MU node.nccl and stacks.nccl_version."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_info
short_description: Load NCCL and ask it for its version
description:
  - Loads the library as a framework would, which needs no GPU. What a package manager says is not
    asked.
options:
  library:
    description: Name or path of the library.
    type: str
    default: libnccl.so.2
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Ask NCCL
  nccl_info:
  register: nccl
"""

RETURN = r"""
version:
  description: The version of the library that was loaded.
  type: str
  returned: success
  sample: 2.28.9
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.drivers import version_code
from ansible_collections.scalebench.core.plugins.module_utils.stacks.versions import nccl_version


def main() -> None:
    """Load, ask and tell."""
    module = AnsibleModule(
        argument_spec={"library": {"type": "str", "default": "libnccl.so.2"}},
        supports_check_mode=True,
    )
    library = module.params["library"]
    try:
        code = version_code(library)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"NCCL cannot be used: {library}: {error}")
    module.exit_json(changed=False, version=nccl_version(code))


if __name__ == "__main__":
    main()
