#!/usr/bin/python
"""Door to MU node.sshd."""

from __future__ import annotations

DOCUMENTATION = r"""
module: scalebench_sshd
short_description: Run an sshd of the cluster's own, beside the system's
description:
  - Starts or ends the sshd that was configured in C(config), known by the pid
    file in the same folder.
  - Needs no root; as an ordinary user it can log in that user only.
  - A daemon that was started with an older content of C(config) is started again; its
    sessions end.
options:
  state:
    description: Whether it runs.
    type: str
    choices: [started, stopped]
    default: started
  config:
    description: Path of its configuration, whose PidFile is C(sshd.pid) in the same folder.
    type: path
    required: true
  address:
    description: The IPv4 address in the configuration; checked before the start, awaited after.
    type: str
    required: true
  port:
    description: The port in the configuration.
    type: int
    required: true
  program:
    description: Absolute path of sshd.
    type: path
    default: /usr/sbin/sshd
attributes:
  check_mode:
    support: full
    description: Tells whether it would start or end the daemon.
"""

EXAMPLES = r"""
- name: Run the node's sshd
  scalebench_sshd:
    config: /home/me/node1/sshd/sshd_config
    address: 127.0.0.2
    port: 10000

- name: End it
  scalebench_sshd:
    state: stopped
    config: /home/me/node1/sshd/sshd_config
    address: 127.0.0.2
    port: 10000
"""

RETURN = r"""
pid:
  description: The daemon's process id; 0 where none runs.
  type: int
  returned: always
  sample: 4242
ended:
  description: Process ids that were ended, the sessions' included.
  type: list
  elements: int
  returned: always
  sample: [4242, 4310]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.sshd import Sshd


def main() -> None:
    """Bring the daemon to the state asked for."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["started", "stopped"], "default": "started"},
            "config": {"type": "path", "required": True},
            "address": {"type": "str", "required": True},
            "port": {"type": "int", "required": True},
            "program": {"type": "path", "default": "/usr/sbin/sshd"},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    sshd = Sshd(wanted["config"], wanted["program"])
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
