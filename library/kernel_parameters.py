#!/usr/bin/python
"""Set kernel parameters that differ, until the next boot."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_parameters
short_description: Set kernel parameters that differ, until the next boot
description:
  - Reads the values in force and sets those that differ; it does not read or write C(sysctl.d).
  - Parameters that the kernel does not have are skipped.
options:
  values:
    description: Values by the names of sysctl.d(5).
    type: dict
    default: {}
  minima:
    description: Least values; a larger one that is in force stays.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Returns what it would set.
  diff_mode:
    support: full
    description: The values that differ, before and after.
"""

EXAMPLES = r"""
- name: Reserve huge pages
  kernel_parameters:
    values:
      vm.nr_hugepages: 1024
"""

RETURN = r"""
wanted:
  description: O(values), and of O(minima) the larger of the value in force and the least one.
  type: dict
  returned: always
  sample: {net.ipv4.neigh.default.gc_thresh3: "65536"}
foreign:
  description: Parameters that exist and cannot be written, such as those of a container's host.
  type: list
  elements: str
  returned: always
  sample: [vm.zone_reclaim_mode]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.kernel_parameters import (
    KernelParameters,
)


def main() -> None:
    """Set the parameters that differ."""
    module = AnsibleModule(
        argument_spec={
            "values": {"type": "dict", "default": {}},
            "minima": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    values, minima = (
        {name: str(value) for name, value in module.params[kind].items()}
        for kind in ("values", "minima")
    )
    kernel = KernelParameters()
    try:
        wanted = {**kernel.raised(minima), **values}
        differing, foreign = kernel.differing(wanted)
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: cannot be read: {error.strerror}")
    for name in () if module.check_mode else differing:
        try:
            kernel.set(name, wanted[name])
        except (OSError, ValueError) as error:
            module.fail_json(
                msg=f"{name}={wanted[name]}: {error}. Correct the value in the playbook."
            )
    module.exit_json(
        changed=bool(differing),
        wanted=wanted,
        foreign=foreign,
        diff={
            "before": "".join(f"{name} = {differing[name]}\n" for name in differing),
            "after": "".join(f"{name} = {wanted[name]}\n" for name in differing),
        },
    )


if __name__ == "__main__":
    main()
