#!/usr/bin/python
"""Tell who listens on an address and port of this node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: listener_info
short_description: Tell who listens on an address and port of this node
description:
  - Names the process and its unit of systemd, as root for every user; another daemon could not
    start there, and systemd does not say who is in its way.
options:
  address:
    description: IPv4 address.
    type: str
    required: true
  port:
    description: TCP port.
    type: int
    required: true
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: See who has the cluster's port
  listener_info:
    address: 10.11.0.2
    port: 10000
  register: port
"""

RETURN = r"""
listener:
  description: The process, its command and its unit. Empty if there is none.
  type: str
  returned: always
  sample: process 812 (/usr/sbin/webmin) of webmin.service
own:
  description: Whether the node has the address.
  type: bool
  returned: always
"""

import ipaddress

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import (
    is_free,
    listener,
)


def main() -> None:
    """Ask the kernel."""
    module = AnsibleModule(
        argument_spec={
            "address": {"type": "str", "required": True},
            "port": {"type": "int", "required": True},
        },
        supports_check_mode=True,
    )
    place = (module.params["address"], module.params["port"])
    try:
        ipaddress.IPv4Address(place[0])
    except ValueError:
        module.fail_json(msg=f"{place[0]} is no IPv4 address: set scalebench_address to the node's")
    module.exit_json(
        changed=False, own=is_free(*place) is not None, listener=listener(*place) or ""
    )


if __name__ == "__main__":
    main()
