#!/usr/bin/python
"""Remove the containers and images that provisioning made on this node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: own_containers
short_description: Remove the containers and images that provisioning made on this node
description:
  - Finds them by the labels that M(container_running) and M(container_image) give, those of Docker
    and of the account's Podman. Images that were pulled have none, and stay.
options:
  user:
    description: The account whose Podman is asked; empty for this one.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Returns what it would remove.
"""

EXAMPLES = r"""
- name: Remove the containers of published programs
  own_containers:
    user: bench
"""

RETURN = r"""
containers:
  description: Name of each container.
  type: list
  elements: str
  returned: always
  sample: [scalebench-pytorch-upstream]
known_as:
  description: The containers as M(running_work_info) names them, by name or id.
  type: list
  elements: str
  returned: always
  sample: [container scalebench-pytorch-upstream, container 3f2a9c01d77e]
images:
  description: Name of each image.
  type: list
  elements: str
  returned: always
  sample: ["scalebench/pytorch-upstream:6b6b6b6b6b6b"]
problems:
  description: What could not be listed or removed, and why.
  type: list
  elements: str
  returned: always
  sample: []
"""

import contextlib
import pwd
import shutil
from typing import List, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.work import BUILT, STARTED

# An engine that does not answer must not stop the rest.
_PATIENCE = ["timeout", "120"]


def engines(user: str) -> List[List[str]]:
    """Return the beginning of a command for each engine that is there."""
    asked = [["docker"], ["podman"]]
    # An account that was removed since has no containers.
    with contextlib.suppress(KeyError):
        home = pwd.getpwnam(user).pw_dir
        asked[1][:0] = ["runuser", "-u", user, "--", "env", f"HOME={home}"]
    return [[*_PATIENCE, *command] for command in asked if shutil.which(command[-1])]


def main() -> None:
    """List them, and remove them."""
    module = AnsibleModule(
        argument_spec={"user": {"type": "str", "default": ""}}, supports_check_mode=True
    )
    result = {"containers": [], "known_as": [], "images": [], "problems": []}

    def ask(command: List[str]) -> List[str]:
        rc, stdout, stderr = module.run_command(command, cwd="/")
        if rc:
            error = (stderr or stdout).strip()[-300:] or f"exit code {rc}"
            result["problems"].append(f"{' '.join(command)}: {error}")
        return [] if rc else stdout.splitlines()

    def listed(command: List[str], label: str, shown: str) -> List[Tuple[str, str]]:
        lines = ask([*command, f"--filter=label={label}", f"--format={shown}"])
        return [(line.split()[0], line.split()[1]) for line in lines]

    for engine in engines(module.params["user"]):
        shown = "{{.ID}} {{.Names}}"
        for number, name in listed([*engine, "ps", "--all"], STARTED, shown):
            result["containers"].append(name)
            result["known_as"] += [f"container {one}" for one in (name, number[:12])]
            if not module.check_mode:
                ask([*engine, "rm", "--force", name])
        shown = "{{.ID}} {{.Repository}}:{{.Tag}}"
        for number, name in listed([*engine, "images"], BUILT, shown):
            named = number if "<none>" in name else name
            result["images"].append(named)
            if not module.check_mode:
                # Not by force: somebody's own container may be made of it.
                ask([*engine, "rmi", named])
    module.exit_json(changed=bool(result["containers"] or result["images"]), **result)


if __name__ == "__main__":
    main()
