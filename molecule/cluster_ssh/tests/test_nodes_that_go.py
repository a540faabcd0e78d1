"""Nodes that die on the way, and nodes that the role is told to leave."""

import json
import os
import subprocess

from testbed_nodes import PREFIX, ROOT, STATE

INVENTORY = ROOT / "molecule/shared/inventory"
DYING = f"scalebench-{PREFIX}-node4"
LOGIN = ["ssh", "-F", STATE / "ssh_config", "node1"]


def run(*command):
    """Run a program as Molecule's steps do."""
    settings = {
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_STDOUT_CALLBACK": "default",
        "ANSIBLE_FORCE_COLOR": "false",
        "MOLECULE_PROJECT_DIRECTORY": str(ROOT),
        # A connection that an earlier step left open would be to the dead node.
        "ANSIBLE_SSH_ARGS": "-o ControlMaster=no",
    }
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def role(tmp_path, given, hosts="nodes", first=(), part="main"):
    """Apply the role, or a part of it, with some variables, after some tasks."""
    named = {"name": "cluster_ssh", "tasks_from": part}
    apply = {"ansible.builtin.include_role": named, "vars": given}
    play = {"hosts": hosts, "gather_facts": False, "tasks": [*first, apply]}
    playbook = tmp_path / "playbook.json"
    playbook.write_text(json.dumps([play]))
    return run("ansible-playbook", str(playbook), "-i", INVENTORY)


def environment(node):
    """Return what sessions on a node get now, asked by way of node1."""
    config = "/opt/scalebench/sshd/ssh_config"
    return run(*LOGIN, f"ssh -F {config} {node} 'echo $AGAIN'").stdout.split()


def test_the_others_go_on_and_a_second_run_completes(tmp_path):
    kill = {
        "name": "Kill the node",
        "ansible.builtin.command": {"argv": ["docker", "kill", DYING]},
        "when": "inventory_hostname == 'node4'",
        "delegate_to": "localhost",
        "vars": {"ansible_connection": "local"},
    }
    given = {"cluster_ssh_environment": {"AGAIN": "yes"}}
    died = role(tmp_path, given, first=[kill])
    assert died.returncode == 4, died.stdout
    assert "[node4]: UNREACHABLE!" in died.stdout
    # The error stands below the step that it happened in.
    step = died.stdout.split("[node4]: UNREACHABLE!")[0].rsplit("TASK [", 1)[1]
    assert step.startswith("cluster_ssh : ")
    assert "node4: failed or not reached before in this run" in " ".join(died.stdout.split())
    assert [environment(node) for node in ("node1", "node2", "node3")] == [["yes"]] * 3

    assert run(ROOT / "scripts/testbed", "up").returncode == 0
    again = role(tmp_path, given)
    assert again.returncode == 0, again.stdout
    assert environment("node4") == ["yes"]


def test_a_pair_that_does_not_work_is_named(tmp_path):
    node2 = [*LOGIN[:-1], "node2"]
    assert run(*node2, "systemctl stop scalebench-sshd").returncode == 0
    told = role(tmp_path, {}, hosts="node1:node2", part="verify")
    assert run(*node2, "systemctl start scalebench-sshd").returncode == 0
    assert told.returncode == 2, told.stdout
    assert "From node1 ssh on port 10000 does not get into node2: ssh:" in " ".join(
        told.stdout.split()
    )


def test_a_part_of_the_nodes_verifies_itself_alone(tmp_path):
    node3 = [*LOGIN[:-1], "node3"]
    assert run(*node3, "systemctl stop scalebench-sshd").returncode == 0
    told = role(tmp_path, {}, hosts="node1:node2", part="verify")
    assert run(*node3, "systemctl start scalebench-sshd").returncode == 0
    assert told.returncode == 0, told.stdout


def test_the_holder_of_a_taken_port_is_named(tmp_path):
    node3 = [*LOGIN[:-1], "node3"]
    server = "systemd-run --unit=webmin python3 -m http.server 10001 --bind ::"
    assert run(*node3, server).returncode == 0
    told = role(tmp_path, {"cluster_ssh_port": 10001}, hosts="node3")
    assert run(*node3, "systemctl stop webmin").returncode == 0
    assert told.returncode == 2, told.stdout
    words = " ".join(told.stdout.split())
    assert "node3: port 10001 on" in words and "http.server 10001 --bind ::) of webmin" in words


def test_a_node_can_be_left_without_a_trace(tmp_path):
    left = role(tmp_path, {"cluster_ssh_state": "absent"}, hosts="node4")
    assert left.returncode == 0, left.stdout
    node = [*LOGIN[:-1], "node4"]
    assert run(*node, "ss --no-header --listening --tcp sport = :10000").stdout == ""
    assert "scalebench" not in run(*node, "ls /opt/scalebench/sshd; systemctl list-units").stdout
