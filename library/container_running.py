#!/usr/bin/python
"""Keep a container running that was started with a given command."""

from __future__ import annotations

DOCUMENTATION = r"""
module: container_running
short_description: Keep a container running that was started with a given command
description:
  - Starts the container if it does not run, and replaces one that was started with another command
    or from another image; a label holds the checksum of both.
  - For Docker and Podman, by their common command line; needs no Python library on the node.
options:
  name:
    description: Name of the container.
    type: str
    required: true
  command:
    description: The whole command, which begins with the engine, C(run) and C(--detach).
    type: list
    elements: str
    required: true
  image_id:
    description: Id of the image in the command.
    type: str
    required: true
attributes:
  check_mode:
    support: full
    description: Returns whether it would start the container.
"""

EXAMPLES = r"""
- name: Run the container of the published program
  container_running:
    name: mine
    command: [docker, run, --detach, --name=mine, "busybox:1", sleep, infinity]
    image_id: sha256:0123
"""

RETURN = r"""
replaced:
  description: Whether a container of the name was removed, or would be.
  type: bool
  returned: always
  sample: false
"""

import hashlib
import json
from typing import List

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.work import STARTED


def checksum(command: List[str], image_id: str) -> str:
    """Return the label of a container that was started with this command."""
    return hashlib.sha256(json.dumps([command, image_id]).encode()).hexdigest()


def main() -> None:
    """Start the container, or replace it."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "command": {"type": "list", "elements": "str", "required": True},
            "image_id": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    name, command = module.params["name"], module.params["command"]
    engine = command[0]
    label = checksum(command, module.params["image_id"])
    shown = f'{{{{index .Config.Labels "{STARTED}"}}}} {{{{.State.Running}}}}'
    rc, state, _ = module.run_command([engine, "container", "inspect", "--format", shown, name])
    present, changed = rc == 0, state.strip() != f"{label} true"
    if changed and not module.check_mode:
        if present:
            module.run_command([engine, "rm", "--force", name], check_rc=True)
        module.run_command(
            [*command[:3], f"--label={STARTED}={label}", *command[3:]], check_rc=True
        )
    module.exit_json(changed=changed, replaced=present and changed)


if __name__ == "__main__":
    main()
