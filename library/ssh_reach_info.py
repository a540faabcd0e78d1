#!/usr/bin/python
"""Door to MU node.ssh_reach."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_reach_info
short_description: Which nodes this node cannot log in on
description: Logs in on all of them at once, with strict host key checking as configured.
options:
  config:
    description: Configuration of ssh on this node, which knows the nodes by name.
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
    description: Logs in all the same.
"""

EXAMPLES = r"""
- name: Log in on the others
  ssh_reach_info:
    config: /opt/scalebench/sshd/ssh_config
    nodes: [node1, node2]
  register: reached
  failed_when: reached.refused | length > 0
"""

RETURN = r"""
refused:
  description: The last line that ssh said, by node that it did not get into.
  type: dict
  returned: always
  sample: {node2: Host key verification failed.}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.ssh import unreachable


def main() -> None:
    """Log in and tell."""
    module = AnsibleModule(
        argument_spec={
            "config": {"type": "path", "required": True},
            "nodes": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    # A result that says unreachable would be this node's own, to Ansible.
    found = unreachable(module.params["config"], module.params["nodes"])
    module.exit_json(changed=False, refused=found)


if __name__ == "__main__":
    main()
