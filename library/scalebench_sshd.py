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
    description: Path of the configuration, whose PidFile is C(sshd.pid) in the same folder.
    type: path
    required: true
  address:
    description: The IPv4 address in the configuration; sshd is started when the port there is free.
    type: str
    required: true
  port:
    description: The port in the configuration.
    type: int
    required: true
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
"""

RETURN = r"""
pid:
  description: Process id of the daemon; 0 if it does not run.
  type: int
  returned: always
  sample: 4242
ended:
  description: Ids of the processes that were ended, including sessions.
  type: list
  elements: int
  returned: always
  sample: [4242, 4310]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.sshd import Sshd


def main() -> None:
    """Start or stop the daemon."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["started", "stopped"], "default": "started"},
            "config": {"type": "path", "required": True},
            "address": {"type": "str", "required": True},
            "port": {"type": "int", "required": True},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    sshd = Sshd(wanted["config"])
    running = sshd.process()
    start = wanted["state"] == "started" and not (running and sshd.is_current())
    stop = running is not None and (wanted["state"] == "stopped" or start)
    ended = []
    if not module.check_mode:
        try:
            ended = sshd.stop() if stop else []
            if start:
                sshd.start(wanted["address"], wanted["port"])
        except ValueError as error:
            module.fail_json(msg=str(error))
        running = sshd.process()
    module.exit_json(
        changed=start or stop,
        pid=running.pid if running else 0,
        ended=[process.pid for process in ended],
    )


if __name__ == "__main__":
    main()
