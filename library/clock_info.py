#!/usr/bin/python
"""Read who keeps the clock of this node, and whether it is synchronised."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clock_info
short_description: Read who keeps the clock of this node, and whether it is synchronised
description:
  - Finds the daemon among the processes and asks the kernel, so that it knows chrony,
    systemd-timesyncd, ntpd and PTP alike.
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Read the state of the clock
  clock_info:
  register: clock
"""

RETURN = r"""
keeper:
  description: Program of the daemon; empty without one.
  type: str
  returned: always
  sample: systemd-timesyncd
synchronised:
  description: Whether the kernel takes the clock for synchronised; in a container that of its host.
  type: bool
  returned: always
  sample: true
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.work import clock_state


def main() -> None:
    """Read it."""
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    module.exit_json(changed=False, **clock_state())


if __name__ == "__main__":
    main()
