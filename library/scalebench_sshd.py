#!/usr/bin/python
"""Run an sshd of the cluster beside the system's; see node.sshd in module_utils."""

from __future__ import annotations

DOCUMENTATION = r"""
module: scalebench_sshd
short_description: Run an sshd of the cluster beside the system's
description:
  - Starts or stops the sshd of O(config), which is identified by the pid file in the same folder.
  - Needs no root; without root only the user who started it can log in.
  - A daemon that was started with an older content of O(config) is restarted, which ends its
    sessions.
options:
  state:
    description: Whether sshd runs.
    type: str
    choices: [started, stopped]
    default: started
  config:
    description:
      - Path of the configuration, whose PidFile is C(sshd.pid) in the same folder. Required without
        O(each).
    type: path
  address:
    description:
      - The IPv4 address in the configuration; sshd is started when the port there is free. Required
        with O(config), as is O(port).
    type: str
  port:
    description: The port in the configuration.
    type: int
  each:
    description:
      - For several daemons in one call, a mapping of O(config), O(address) and O(port) for each.
        One that fails does not stop the others.
    type: list
    elements: dict
attributes:
  check_mode:
    support: full
    description: Returns whether it would start or stop the daemon.
"""

EXAMPLES = r"""
- name: Run the node's sshd
  scalebench_sshd:
    config: /home/me/node1/sshd/sshd_config
    address: 127.0.0.2
    port: 10000

- name: Stop the node's sshd
  scalebench_sshd:
    state: stopped
    config: /home/me/node1/sshd/sshd_config
    address: 127.0.0.2
    port: 10000

- name: Run the sshd of two nodes
  scalebench_sshd:
    each:
      - {config: /home/me/node1/sshd/sshd_config, address: 127.0.0.2, port: 10000}
      - {config: /home/me/node2/sshd/sshd_config, address: 127.0.0.3, port: 10000}
"""

RETURN = r"""
pid:
  description: Process id of the daemon, the first one of O(each); 0 if it does not run.
  type: int
  returned: success
  sample: 4242
ended:
  description: Ids of the processes that were ended, including sessions.
  type: list
  elements: int
  returned: always
  sample: [4242, 4310]
"""

from typing import Any, Dict, List, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.sshd import Sshd

DAEMON = (("config", "path"), ("address", "str"), ("port", "int"))


def keep(wanted: Dict[str, Any], state: str, check_mode: bool) -> Tuple[bool, int, List[int]]:
    """Start or stop a daemon; return whether it was, its pid, and the processes that were ended."""
    sshd = Sshd(wanted["config"])
    running = sshd.process()
    start = state == "started" and not (running and sshd.is_current())
    stop = running is not None and (state == "stopped" or start)
    ended = []
    if not check_mode:
        ended = sshd.stop() if stop else []
        if start:
            sshd.start(wanted["address"], wanted["port"])
        running = sshd.process()
    return start or stop, running.pid if running else 0, [process.pid for process in ended]


def main() -> None:
    """Start or stop the daemons."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["started", "stopped"], "default": "started"},
            **{name: {"type": kind} for name, kind in DAEMON},
            "each": {
                "type": "list",
                "elements": "dict",
                "options": {name: {"type": kind, "required": True} for name, kind in DAEMON},
            },
        },
        required_one_of=[["config", "each"]],
        mutually_exclusive=[["config", "each"]],
        required_by={"config": ["address", "port"]},
        supports_check_mode=True,
    )
    every: List[Dict[str, Any]] = module.params["each"] or [module.params]
    changed, pids, ended, problems = False, [], [], []
    for wanted in every:
        try:
            done, pid, gone = keep(wanted, module.params["state"], module.check_mode)
        except ValueError as error:
            problems.append(f"{wanted['config']}: {error}")
            continue
        changed, pids, ended = changed or done, [*pids, pid], [*ended, *gone]
    if problems:
        module.fail_json(msg="\n".join(problems))
    module.exit_json(changed=changed, pid=pids[0], ended=ended)


if __name__ == "__main__":
    main()
