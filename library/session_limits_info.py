#!/usr/bin/python
"""Read which limits of sessions must be raised."""

from __future__ import annotations

DOCUMENTATION = r"""
module: session_limits_info
short_description: Read which limits of sessions must be raised
description:
  - Compares the wanted limits with those that the files of C(/etc/security) set for everybody and
    for root, and where they set none with those of this session.
options:
  limits:
    description: Least limits by the items of limits.conf(5); empty for one that does not matter.
    type: dict
    required: true
  own:
    description: The file for the lines, whose own limits do not count as the site's.
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Read which limits are lower
  session_limits_info:
    limits: {memlock: unlimited, nofile: 1048576}
    own: /etc/security/limits.d/90-scalebench.conf
"""

RETURN = r"""
lines:
  description: The lines of limits.conf(5) that raise the lower ones.
  type: list
  elements: str
  returned: success
  sample: ["* - memlock unlimited", "root - memlock unlimited"]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.session_limits import (
    limits_in_force,
    raised_limits,
    texts_of_limits,
)


def main() -> None:
    """Compare them."""
    module = AnsibleModule(
        argument_spec={
            "limits": {"type": "dict", "required": True},
            "own": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    wanted = {item: str(value) for item, value in module.params["limits"].items()}
    try:
        texts = texts_of_limits(module.params["own"])
        module.exit_json(changed=False, lines=raised_limits(wanted, *texts, limits_in_force()))
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
