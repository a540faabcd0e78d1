#!/usr/bin/python
"""Try the ways by ssh from this node to all others, and return the failures."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_reach_info
short_description: List the nodes that this node cannot log in to
description:
  - Logs in to the node that follows this one in O(nodes), and compares the host keys of the others
    with known_hosts, four at a time.
options:
  config:
    description: Configuration of ssh on this node, with the nodes by name.
    type: path
    required: true
  nodes:
    description: The names of all nodes, in the same order on each.
    type: list
    elements: str
    required: true
  node:
    description: The name of this node among O(nodes).
    type: str
    required: true
attributes:
  check_mode:
    support: full
    description: Asks as without check mode.
"""

EXAMPLES = r"""
- name: Log in to the other nodes
  ssh_reach_info:
    config: /opt/scalebench/sshd/ssh_config
    nodes: [node1, node2]
    node: node1
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
            "node": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    # Not under the key `unreachable`, which would mark this node as such.
    try:
        refused = unreachable(*(module.params[key] for key in ("config", "nodes", "node")))
    except ValueError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, refused=refused)


if __name__ == "__main__":
    main()
