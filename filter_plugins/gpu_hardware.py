"""Door to MU stacks.pci."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_hardware
short_description: The GPUs, NVSwitches and InfiniBand adapters among a node's PCI devices
description: Tells them by the identifiers that the bus shows, so that no driver is needed.
positional: _input
options:
  _input:
    description: The devices that module M(pci_devices_info) found.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Say what is there
  ansible.builtin.debug:
    msg: "{{ (pci.devices | gpu_hardware).gpus | length }} GPUs"
"""

RETURN = r"""
_value:
  description: C(gpus) with their architecture, C(nvswitches) and C(hcas), each with slot and model.
  type: dict
"""

from ansible_collections.scalebench.core.plugins.module_utils.stacks.pci import hardware


class FilterModule:
    """Registers the pure function."""

    def filters(self) -> dict:
        """Return the filter by name."""
        return {"gpu_hardware": hardware}
