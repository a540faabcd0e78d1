#!/usr/bin/python
"""Build a container image, or copy it from another node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: container_image
short_description: Build a container image, or copy it from another node
description:
  - For Docker and Podman, by their common command line; needs no Python library on the node.
  - An image that is there is not built again. One that is copied is as on the other node, which a
    second build, with what the network has an hour later, would not be.
options:
  engine:
    description: The engine's program.
    type: str
    choices: [docker, podman]
    required: true
  name:
    description: Name and tag of the image.
    type: str
    required: true
  build:
    description: How to build it; one of O(build) and O(copy) is needed.
    type: dict
    suboptions:
      base:
        description: The image to begin with.
        type: str
        required: true
      pull:
        description: Whether to pull it first.
        type: bool
        default: true
      base_name:
        description: The name of that image in the Dockerfile of O(build.context).
        type: str
        required: true
      context:
        description: Folder with the Dockerfile to build from it.
        type: path
        required: true
      dockerfile:
        description: Text of a Dockerfile without files, for the last step; build argument C(BASE)
          is the image built before.
        type: str
        required: true
  copy:
    description: Where to copy it from.
    type: dict
    suboptions:
      node:
        description: The node, by its name in O(copy.ssh_config).
        type: str
        required: true
      ssh_config:
        description: Configuration of ssh on this node.
        type: path
        required: true
      id:
        description: The image's id there; nothing is copied if this node has the same.
        type: str
        required: true
attributes:
  check_mode:
    support: full
    description: Returns whether it would build or copy.
"""

EXAMPLES = r"""
- name: Copy the image from the node that built it
  container_image:
    engine: docker
    name: scalebench/tensorflow-upstream:6b6b6b6b6b6b
    copy:
      node: node1
      ssh_config: /opt/scalebench/sshd/ssh_config
      id: sha256:0123
"""

RETURN = r"""
id:
  description: The image's id on this node; empty if check mode did not make it.
  type: str
  returned: always
  sample: sha256:0123
"""

import os
import shlex
from typing import Any, Dict, Optional

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.work import BUILT

PROXIES = ("http_proxy", "https_proxy", "no_proxy")


def image_id(module: AnsibleModule) -> str:
    """Return the id of the image; empty if no image has this name."""
    engine, name = module.params["engine"], module.params["name"]
    rc, stdout, _ = module.run_command([engine, "image", "inspect", "--format", "{{.Id}}", name])
    return "" if rc else stdout.strip()


def run(module: AnsibleModule, *arguments: str, text: Optional[str] = None) -> None:
    """Run the engine; end the module with its message if it fails."""
    rc, stdout, stderr = module.run_command([module.params["engine"], *arguments], data=text)
    if rc:
        command = f"{module.params['engine']} {' '.join(arguments)}"
        module.fail_json(msg=f"{command}: {(stderr or stdout).strip()}", rc=rc)


def build(module: AnsibleModule, wanted: Dict[str, Any]) -> None:
    """Build the image of the context, and the one with the last step on top of it."""
    name = module.params["name"]
    if wanted["pull"]:
        run(module, "pull", wanted["base"])
    if wanted["base_name"] != wanted["base"]:
        run(module, "tag", wanted["base"], wanted["base_name"])
    published = f"{name}-published"
    # Docker hands a build argument of these names to each step; without a value it takes its own.
    proxies = [f"--build-arg={variable}" for variable in PROXIES if os.environ.get(variable)]
    options = ("build", "--network=host", f"--label={BUILT}=true", *proxies)
    run(module, *options, f"--tag={published}", wanted["context"])
    last = (f"--build-arg=BASE={published}", f"--tag={name}", "-")
    run(module, *options, *last, text=wanted["dockerfile"])


def copy(module: AnsibleModule, wanted: Dict[str, Any]) -> None:
    """Load the image that the other node saves, without a file of gigabytes in between."""
    engine, name = module.params["engine"], shlex.quote(module.params["name"])
    ssh = f"ssh -F {shlex.quote(wanted['ssh_config'])} {shlex.quote(wanted['node'])}"
    pipe = f"set -o pipefail; {ssh} {engine} save {name} | {engine} load"
    rc, stdout, stderr = module.run_command(["/bin/bash", "-c", pipe])
    if rc:
        reason = (stderr or stdout).strip()
        module.fail_json(msg=f"{name} cannot be copied from {wanted['node']}: {reason}", rc=rc)


def main() -> None:
    """Build or copy the image if it is missing or another one."""
    suboptions = {
        "build": {
            "base": {"type": "str", "required": True},
            "pull": {"type": "bool", "default": True},
            "base_name": {"type": "str", "required": True},
            "context": {"type": "path", "required": True},
            "dockerfile": {"type": "str", "required": True},
        },
        "copy": {
            "node": {"type": "str", "required": True},
            "ssh_config": {"type": "path", "required": True},
            "id": {"type": "str", "required": True},
        },
    }
    module = AnsibleModule(
        argument_spec={
            "engine": {"type": "str", "choices": ["docker", "podman"], "required": True},
            "name": {"type": "str", "required": True},
            **{name: {"type": "dict", "options": options} for name, options in suboptions.items()},
        },
        required_one_of=[("build", "copy")],
        mutually_exclusive=[("build", "copy")],
        supports_check_mode=True,
    )
    source = module.params["copy"]
    present = image_id(module)
    changed = present != source["id"] if source else not present
    if changed and not module.check_mode:
        if source:
            copy(module, source)
        else:
            build(module, module.params["build"])
        present = image_id(module)
    module.exit_json(changed=changed, id=present)


if __name__ == "__main__":
    main()
