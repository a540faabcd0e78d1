"""Small inventories and what plays say of them; nothing is dialled."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PLACES = {"scalebench_work_dir": "/opt/scalebench", "scalebench_state_dir": "/var/empty"}
# What tasks return is printed as JSON.
AS_JSON = {"ANSIBLE_STDOUT_CALLBACK": "minimal", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}


def said(tmp_path, inventory, *arguments, roles=(), shown=(), hosts="nodes", task=None, **keys):
    """Return by host the values of expressions in a play, after the defaults of some roles.

    :param task: shows others; ``keys`` are the play's.
    """
    task = task or {"ansible.builtin.debug": {"msg": {name: f"{{{{ {name} }}}}" for name in shown}}}
    # The argument specs are validated, and no task of the role runs.
    given = [{"role": name, "tags": "never"} for name in roles]
    play = [{"hosts": hosts, "gather_facts": False, "roles": given, "tasks": [task], **keys}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play))
    done = played(
        ["-i", inventory, *arguments], tmp_path / "play.yml", timeout=120, **AS_JSON,
        ANSIBLE_LOOKUP_PLUGINS=str(ROOT / "lookup_plugins"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^(\S+) \| SUCCESS => (\{.*?^\})", done.stdout, re.MULTILINE | re.DOTALL)
    return {name: json.loads(text).get("msg") for name, text in found}


def written(tmp_path, hosts, **variables):
    """Write an inventory of some hosts; return its path."""
    groups = {"nodes": {"hosts": hosts, "vars": {**PLACES, **variables}}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({**groups, "local_nodes": {}}))
    return tmp_path / "hosts.yml"


def inventory_checked(tmp_path, groups, *arguments, told=True):
    """Run inventory_check.yml on groups of hosts.

    :param told: whether the inventory says where Scalebench's folder on the nodes is.
    """
    inventory = {name: {"hosts": dict.fromkeys(hosts)} for name, hosts in groups.items()}
    inventory["nodes"]["vars"] = {"scalebench_work_dir": "/work"} if told else {}
    (tmp_path / "hosts.yml").write_text(json.dumps(inventory))
    return played([*arguments, "-i", tmp_path / "hosts.yml"])


def played(arguments, playbook=ROOT / "playbooks/inventory_check.yml", timeout=60, **settings):
    """Run a playbook on this controller and return what became of it, whatever its code.

    :param settings: Ansible's, as variables of the environment.
    """
    return subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", playbook, *arguments],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
             **settings},
        capture_output=True, text=True, check=False, timeout=timeout,
    )  # fmt: skip
