#!/usr/bin/python
"""Read the version of the NCCL library that the dynamic linker loads."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_info
short_description: Read the version of the NCCL library that the dynamic linker loads
description:
  - Loads C(libnccl.so.2) as a framework would, which needs no GPU. It does not ask the package
    manager.
attributes:
  check_mode:
    support: full
    description: Changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Read the version of NCCL
  nccl_info:
  register: nccl
"""

RETURN = r"""
version:
  description: Version of the loaded library.
  type: str
  returned: success
  sample: 2.28.9
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.drivers import version_code
from ansible_collections.scalebench.core.plugins.module_utils.stacks.versions import nccl_version

LIBRARY = "libnccl.so.2"


def main() -> None:
    """Load the library and read its version."""
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    try:
        code = version_code(LIBRARY)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"NCCL cannot be used: {LIBRARY}: {error}")
    module.exit_json(changed=False, version=nccl_version(code))


if __name__ == "__main__":
    main()
