#!/usr/bin/python
"""Read which host names this node resolves to the right address already."""

from __future__ import annotations

DOCUMENTATION = r"""
module: known_names_info
short_description: Read which host names this node resolves to the right address already
description:
  - Asks C(/etc/hosts), without a marked block of ours, and the name servers. A line without the
    domain, added for a name that they know, would take it from the answers of C(hostname -f).
options:
  names:
    description: IPv4 addresses by name.
    type: dict
    required: true
  begin:
    description: First line of the block.
    type: str
    required: true
  end:
    description: Last line of the block.
    type: str
    required: true
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Read which names are known
  known_names_info:
    names: {gpu01: 192.0.2.11}
    begin: "# BEGIN ours"
    end: "# END ours"
"""

RETURN = r"""
known:
  description: The names that have this address and no other.
  type: list
  elements: str
  returned: success
  sample: [gpu01]
"""

import subprocess
import time
from typing import Dict, List, Set

from ansible.module_utils.basic import AnsibleModule

HOSTS = "/etc/hosts"
# Of all questions together: an unreachable name server must not take seconds for each.
PATIENCE_SECONDS = 10


def of_file(text: str, begin: str, end: str) -> Dict[str, Set[str]]:
    """Return the IPv4 addresses by name of a file such as /etc/hosts, without the block."""
    found: Dict[str, Set[str]] = {}
    inside = False
    for line in text.splitlines():
        inside = line == begin or (inside and line != end)
        address, *names = line.partition("#")[0].split() or [""]
        for name in names if "." in address and not inside else ():
            found.setdefault(name, set()).add(address)
    return found


def of_servers(names: List[str]) -> Dict[str, Set[str]]:
    """Return the addresses by name that the name servers answer, as long as they are quick."""
    found: Dict[str, Set[str]] = {}
    end = time.monotonic() + PATIENCE_SECONDS
    for name in names:
        try:
            done = subprocess.run(
                ["getent", "--service=dns", "ahostsv4", name],
                check=False,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                timeout=max(end - time.monotonic(), 0),
            )
        except (OSError, subprocess.TimeoutExpired):
            break
        found[name] = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    return found


def main() -> None:
    """Compare what is known with what should be."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "dict", "required": True},
            "begin": {"type": "str", "required": True},
            "end": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    names = module.params["names"]
    try:
        with open(HOSTS, encoding="utf-8", errors="replace") as file:
            here = of_file(file.read(), module.params["begin"], module.params["end"])
    except OSError as error:
        module.fail_json(msg=f"{HOSTS}: {error.strerror}")
    # The file comes first.
    found = {**of_servers([name for name in names if name not in here]), **here}
    known = sorted(name for name, address in names.items() if found.get(name) == {address})
    module.exit_json(changed=False, known=known)


if __name__ == "__main__":
    main()
