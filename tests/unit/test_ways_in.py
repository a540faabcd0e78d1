"""How Ansible and the nodes reach a node: ports, accounts, ssh; nothing is dialled."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from inventories import played, said, written

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = "inventory/example/group_vars/nodes/ansible.yml"
BASTION = "-o ProxyJump=admin@bastion.example"


@pytest.fixture
def cluster(tmp_path):
    """Return a copy of the inventory of the reference cluster, of which node1 was provisioned."""
    shutil.copytree(ROOT / "inventory/v100", tmp_path / "inventory/mine")
    (tmp_path / "ssh").mkdir()
    (tmp_path / "ssh/known_hosts").write_text("[10.11.0.2]:10000 ssh-ed25519 AAAA\n")
    return tmp_path / "inventory/mine"


@pytest.mark.parametrize("arguments", [(), ("--check",)])
def test_both_sshds_are_reached_by_the_bastion(tmp_path, cluster, arguments):
    given = {"scalebench_ssh_arguments": BASTION, "scalebench_state_dir": str(tmp_path)}
    for first in (True, False):
        extra = json.dumps({**given, "scalebench_first_contact": first})
        shown = ("ansible_port", "ansible_ssh_common_args")
        told = said(tmp_path, cluster, *arguments, "-e", extra, shown=shown)["node1"]
        # The cluster's own options first, as ssh takes the first value that it finds.
        assert told["ansible_ssh_common_args"].endswith(BASTION)
        assert told["ansible_port"] == (22 if first else 10000)
        strict = f"""UserKnownHostsFile='"{tmp_path}/ssh/known_hosts"'"""
        assert (strict in told["ansible_ssh_common_args"]) is not first


def test_check_mode_goes_where_the_node_listens(tmp_path, cluster):
    extra = json.dumps({"scalebench_state_dir": str(tmp_path)})
    told = said(tmp_path, cluster, "--check", "-e", extra, shown=["ansible_port"])
    assert {name: values["ansible_port"] for name, values in told.items()} == {
        "node1": 10000, "node2": 22, "node3": 22, "node4": 22,
    }  # fmt: skip


def test_check_mode_logs_in_as_who_exists_there(tmp_path, cluster):
    text = (ROOT / "docs/your-site.md").read_text()
    (lines,) = re.findall(r"^cluster_ssh_user: bench\nansible_user: .*", text, re.MULTILINE)
    assert lines.splitlines()[1] in (ROOT / EXAMPLE).read_text()
    (cluster / "group_vars/nodes/who.yml").write_text(lines)
    for arguments in (("--check",), ()):
        extra = json.dumps({"scalebench_state_dir": str(tmp_path)})
        told = said(tmp_path, cluster, *arguments, "-e", extra, shown=["ansible_user"])
        later = "ubuntu" if arguments else "bench"
        assert {name: values["ansible_user"] for name, values in told.items()} == {
            "node1": "bench", "node2": later, "node3": later, "node4": later,
        }  # fmt: skip


def test_more_controllers_do_not_lock_out_the_one_of_this_run(tmp_path):
    given = {
        "host_baseline_controllers": ["192.0.2.50"],
        "__host_baseline_connection": {"stdout": "192.0.2.99 50000 192.0.2.1 22\r\n"},
    }
    inventory = written(tmp_path, {"node1": {"ansible_host": "192.0.2.1"}}, **given)
    shown = ["__host_baseline_controllers"]
    (values,) = said(tmp_path, inventory, roles=["host_baseline"], shown=shown).values()
    assert values[shown[0]] == ["192.0.2.50", "192.0.2.99"]
    tasks = (ROOT / "roles/host_baseline/tasks/firewall.yml").read_text()
    assert not re.search(r"(?<!__)host_baseline_controllers", tasks)


SEMANAGE = """#!/bin/sh
# The words of policycoreutils 3.4, on a policy that gives 10000 to another service.
echo "$2" >> {calls}
for port in "$@"; do :; done
case "$2" in
--list) echo 'ndmp_port_t                    tcp      10000'
    echo 'unreserved_port_t              tcp      61000-65535, 1024-32767'
    cat {ports} 2>/dev/null || true ;;
--add)
    if [ "$port" = 10000 ]; then echo "ValueError: Port tcp/10000 already defined" >&2; exit 1; fi
    echo "ssh_port_t                     tcp      $port, 22" > {ports} ;;
--modify)
    if [ "$port" != 10000 ]; then echo "ValueError: Port tcp/$port is not defined" >&2; exit 1; fi
    echo "ssh_port_t                     tcp      $port, 22" > {ports} ;;
esac
"""


@pytest.mark.parametrize(
    ("port", "asked"), [(10000, ["--list", "--modify"]), (10022, ["--list", "--add"])]
)
def test_selinux_lets_sshd_have_a_port_of_another_service_and_one_of_none(tmp_path, port, asked):
    calls, ports = tmp_path / "calls", tmp_path / "ports"
    program = tmp_path / "semanage"
    program.write_text(SEMANAGE.format(calls=calls, ports=ports))
    program.chmod(0o755)
    block = yaml.safe_load((ROOT / "roles/cluster_ssh/tasks/service.yml").read_text())[0]
    assert block["block"][0]["distribution_packages"]["name"] == ["policycoreutils-python-utils"]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False,
            "vars": {"cluster_ssh_port": port, "ansible_python_interpreter": sys.executable},
            "environment": {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
            "tasks": block["block"][1:]}  # fmt: skip
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    for expected in (asked, [*asked, "--list"]):  # The second run only looks.
        done = played([], tmp_path / "play.yml")
        assert done.returncode == 0, done.stdout
        assert calls.read_text().split() == expected


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("Debian", ["g++", "git", "libopenmpi-dev", "openmpi-bin"]),
        ("RedHat", ["gcc-c++", "git", "openmpi", "openmpi-devel"]),
    ],
)
def test_programs_have_the_names_of_the_distributions_packages(tmp_path, family, expected):
    found = {"path": None}
    mpi = {"mpirun": "openmpi-bin", "mpicxx": "libopenmpi-dev"}
    named = {"git": "git", **mpi, "g++": "g++", "cmake": "cmake"}
    programs = {**dict.fromkeys(named, found), "cmake": {"path": "/usr/bin/cmake"}}
    given = {"__framework_programs": {"programs": programs}, "__framework_set": {"programs": named}}
    facts = {"ansible.builtin.set_fact": {"os_family": family, "cacheable": True}}
    inventory = written(tmp_path, {"node1": {}}, **given)
    shown = ["__framework_lacking"]
    (told,) = said(
        tmp_path, inventory, roles=["framework"], shown=shown, pre_tasks=[facts]
    ).values()
    assert told[shown[0]] == expected


def test_programs_are_installed_with_sudo_where_the_user_has_it(tmp_path):
    groups = {
        "nodes": {"hosts": {"gpu01": {}, "gpu02": {}, "here": {}}},
        "unprivileged_nodes": {"hosts": {"gpu02": {}}},
        "local_nodes": {"hosts": {"here": {}}},
    }
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(groups))
    tasks = yaml.safe_load((ROOT / "roles/framework/tasks/programs.yml").read_text())
    given, same = [task["vars"] for task in tasks[1]["block"] if "vars" in task]
    assert given == same
    plays = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
    (play,) = [play for play in plays if play["name"] == "Provision the nodes"]
    shown = {"ansible.builtin.debug": {"msg": "{{ [ansible_become, scalebench_first_contact] }}"}}
    told = said(tmp_path, tmp_path / "hosts.yml", task={**shown, "vars": given}, vars=play["vars"])
    assert told == {"gpu01": [True, True], "gpu02": [False, False], "here": [False, False]}


@pytest.mark.parametrize("user", ["root", "ubuntu"])
def test_the_service_runs_as_the_account_that_may_log_in(tmp_path, user):
    unit = ROOT / "roles/cluster_ssh/templates/scalebench-sshd.service.j2"
    shown = [f"lookup('ansible.builtin.template', '{unit}')", "cluster_ssh_use_pam"]
    inventory = written(tmp_path, {"node1": {"ansible_host": "192.0.2.1"}}, ansible_user=user)
    (values,) = said(tmp_path, inventory, roles=["cluster_ssh"], shown=shown).values()
    lines = values[shown[0]].splitlines()
    assert ("User=ubuntu" in lines) is (user == "ubuntu")
    # systemd would give it to the user, and the system's sshd refuses that.
    assert ("RuntimeDirectory=sshd" in lines) is (user == "root")
    assert values["cluster_ssh_use_pam"] is (user == "root")
