"""Door to MU container: the command that starts a recipe's container."""

from __future__ import annotations

DOCUMENTATION = r"""
name: container_start_command
short_description: The command that starts the container of a published image
description:
  - Locked memory and the devices that RDMA needs, the host's network, data and programs mounted
    read-only; no C(--privileged).
positional: _input, node, name, image
options:
  _input:
    description: C(container) of a recipe, as the lookup C(benchmark_preparations) returns it.
    type: dict
    required: true
  node:
    description:
      - The node's C(container_engine), C(data_dir), C(workload_dir), C(ssh_dir), C(devices) (those
        that the recipe names and the node has) and C(gpu_access) (C(cdi), C(gpus) or C(none)).
    type: dict
    required: true
  name:
    description: The container's name.
    type: str
    required: true
  image:
    description: Name or id of the image.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the command
  ansible.builtin.debug:
    msg: "{{ {'image': 'x', 'shm_size': '16g'} | container_start_command(node, 'mine', 'x') }}"
  vars:
    node:
      container_engine: docker
      data_dir: /data
      workload_dir: /opt/workloads
      ssh_dir: /opt/ssh
      devices: []
      gpu_access: cdi
"""

RETURN = r"""
_value:
  description: The words of the command.
  type: list
  elements: str
"""

from ansible_collections.scalebench.core.plugins.module_utils.planning.container import (
    start_command,
)


class FilterModule:
    """Registers the pure function."""

    def filters(self) -> dict:
        """Return the filter by name."""
        return {"container_start_command": start_command}
