#!/usr/bin/python
"""Log in to other nodes and return the failures."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_reach_info
short_description: List the nodes that this node cannot log in to
description: Logs in to 16 nodes at a time, with strict host key checking if so configured.
options:
  config:
    description: Configuration of ssh on this node, with the nodes by name.
    type: path
    required: true
  nodes:
    description: The nodes' names.
    type: list
    elements: str
    required: true
attributes:
  check_mode:
    support: full
    description: Logs in as without check mode.
"""

EXAMPLES = r"""
- name: Log in to the other nodes
  ssh_reach_info:
    config: /opt/scalebench/sshd/ssh_config
    nodes: [node1, node2]
  register: reached
  failed_when: reached.refused | length > 0
"""

RETURN = r"""
refused:
  description: The last line of the output of ssh, by node that refused the login.
  type: dict
  returned: always
  sample: {node2: Host key verification failed.}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.ssh import unreachable


def main() -> None:
    """Log in to every node."""
    module = AnsibleModule(
        argument_spec={
            "config": {"type": "path", "required": True},
            "nodes": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    # Not under the key `unreachable`, which would mark this node as such.
    refused = unreachable(module.params["config"], module.params["nodes"])
    module.exit_json(changed=False, refused=refused)


if __name__ == "__main__":
    main()
