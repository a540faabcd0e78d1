#!/usr/bin/python
"""Read the versions that programs on this node report."""

from __future__ import annotations

DOCUMENTATION = r"""
module: program_info
short_description: Read the versions that programs on this node report
description:
  - Runs each program with the option that prints its version, at most a minute. A program that is
    missing or fails is a result and not an error.
options:
  names:
    description:
      - Names on the PATH, or absolute paths.
      - C(ofed_info) reports the release, C(ibv_devinfo) the RDMA devices and C(mpicxx) its folders
        of headers; all others run with C(--version) or O(arguments).
    type: list
    elements: str
    required: true
  arguments:
    description: Other arguments, by the names of O(names).
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Read the versions of compiler and MPI
  program_info:
    names: [g++, mpirun]
  register: programs
"""

RETURN = r"""
programs:
  description:
    - By name C(path) (null if the program is missing, or for C(mpicxx) C(mpi.h)), C(rc) (null if it
      did not run), C(lines) of its standard output, and C(error), its standard error or the reason
      why it did not run.
  type: dict
  returned: always
  sample:
    mpirun:
      path: /usr/bin/mpirun
      rc: 0
      lines: ["mpirun (Open MPI) 4.1.4"]
      error: ""
"""

import os
import shutil
from typing import Any, Dict, List

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.programs import run_program

TIMEOUT_SECONDS = 60
ARGUMENTS = {
    "ofed_info": ["-s"],
    "ibv_devinfo": ["--list"],
    "mpicxx": ["-showme:incdirs"],
}


def report(name: str, arguments: List[str]) -> Dict[str, Any]:
    """Return path, exit status, output lines and error text of one program."""
    path = shutil.which(name)
    result: Dict[str, Any] = {"path": path, "rc": None, "lines": [], "error": ""}
    if path is None:
        return {**result, "error": f"{name}: not installed"}
    try:
        done = run_program([path, *arguments], TIMEOUT_SECONDS)
    except ValueError as error:
        return {**result, "error": str(error)}
    if name == "mpicxx" and done.returncode == 0:
        folders = [*done.stdout.split(), "/usr/include"]
        # Debian has this compiler of Open MPI in the package of mpirun, and the headers in another.
        if not any(os.path.exists(os.path.join(folder, "mpi.h")) for folder in folders):
            return {**result, "path": None, "error": f"{path}: mpi.h is not installed"}
    return {
        **result,
        "rc": done.returncode,
        "lines": done.stdout.splitlines(),
        "error": done.stderr.strip(),
    }


def main() -> None:
    """Run the programs."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "arguments": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    arguments = {**ARGUMENTS, **module.params["arguments"]}
    programs = {
        name: report(name, arguments.get(name, ["--version"])) for name in module.params["names"]
    }
    module.exit_json(changed=False, programs=programs)


if __name__ == "__main__":
    main()
