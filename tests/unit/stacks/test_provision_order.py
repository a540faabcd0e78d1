"""The order and the tags of the roles that prepare a server, in ``provision.yml``."""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
PLAYS = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
# The nodes on which root prepares the system.
SERVERS = next(play for play in PLAYS if play["name"] == "Configure the servers as a cluster")
FIRST = [task for task in SERVERS["pre_tasks"] if "ansible.builtin.import_role" in task]
ROLES = {
    **{task["ansible.builtin.import_role"]["name"]: task["tags"] for task in FIRST},
    **{entry["role"]: entry["tags"] for entry in SERVERS["roles"]},
}


def dependencies(role):
    """Return the roles that a role depends on, and those that they depend on."""
    path = ROOT / "roles" / role / "meta/main.yml"
    direct = yaml.safe_load(path.read_text())["dependencies"] if path.exists() else []
    names = {entry["role"] for entry in direct}
    return names.union(*(dependencies(name) for name in names))


def test_ofed_is_there_before_the_driver_is_compiled_against_it():
    order = list(ROLES)
    wanted = ["stack", "host_baseline", "mlnx_ofed", "nvidia_driver", "cuda"]
    assert [role for role in order if role in wanted] == wanted
    assert order.index("nvidia_driver") < order.index("container_engine")


def test_a_stack_that_cannot_work_is_refused_before_a_server_is_changed():
    # python_bootstrap makes it possible to read anything, and a claim changes nothing.
    assert list(ROLES)[:3] == ["python_bootstrap", "claim", "stack"]


def test_benchmark_files_are_checked_for_the_roles_that_read_them():
    """Else `--tags workload` would be refused for a benchmark that it does nothing with."""
    (check,) = next(play for play in PLAYS if play["name"] == "Check the benchmark files")["tasks"]
    entries = [entry for play in PLAYS for entry in play.get("roles", [])]
    reading = {
        tag
        for entry in entries
        for path in (ROOT / "roles" / entry["role"]).rglob("*.yml")
        if "lookup('benchmark_" in path.read_text()
        for tag in entry["tags"]
    }
    assert {*check["tags"]} == reading


def test_a_node_that_others_use_is_refused_before_anything_but_python_is_changed():
    first = [
        task.get("ansible.builtin.import_role", {}).get("name") for task in SERVERS["pre_tasks"]
    ]
    assert first[:2] == ["python_bootstrap", "claim"]
    assert "always" in SERVERS["pre_tasks"][1]["tags"]


def test_the_state_of_a_server_is_read_before_it_is_changed_and_after():
    begun = [task.get("system_changes", {}).get("state") for task in SERVERS["pre_tasks"]]
    assert begun == [None, None, "begun"]
    last, released = PLAYS[-2:]
    assert released["name"] == "Release the nodes without root"
    assert last["hosts"] == SERVERS["hosts"]
    assert last["tasks"][0]["system_changes"]["state"] == "recorded"
    # As root, who claimed the folder that a node has without a work folder.
    assert last["become"] and last["tasks"][1]["ansible.builtin.import_role"]["name"] == "claim"
    assert last["tasks"][1]["vars"] == SERVERS["pre_tasks"][1]["vars"]
    # Whatever the tags of a run.
    assert SERVERS["pre_tasks"][2]["tags"] == last["tasks"][0]["tags"] == ["always"]
    assert last["tasks"][1]["tags"] == ["always"]


def test_a_check_that_has_ended_for_want_of_a_python_goes_on_in_no_later_play():
    of_bare_servers = [play for play in PLAYS if play.get("hosts") in ("nodes", SERVERS["hosts"])]
    later = of_bare_servers[of_bare_servers.index(SERVERS) + 1 :]
    assert len(later) == 3
    for play in later:
        assert play["pre_tasks"][0]["ansible.builtin.meta"] == "end_host"
        assert "__python_bootstrap_interpreter" in play["pre_tasks"][0]["when"]
        assert play["pre_tasks"][0]["tags"] == ["always"]


@pytest.mark.parametrize(
    ("playbook", "hosts"),
    [("teardown", "unprivileged_nodes"), ("uninstall", SERVERS["hosts"])],
)
def test_a_node_that_others_use_is_refused_before_what_runs_there_is_ended(playbook, hosts):
    plays = yaml.safe_load((ROOT / f"playbooks/{playbook}.yml").read_text())
    (play,) = [one for one in plays if one.get("hosts") == hosts]
    # Roles would run before it.
    assert "roles" not in play and "pre_tasks" not in play
    assert play["tasks"][0]["ansible.builtin.import_role"] == {"name": "claim"}


def test_every_tag_runs_the_roles_that_its_role_depends_on():
    dependent = {role for role in ROLES if {"hardware", "stack"} & dependencies(role)}
    assert dependent == set(ROLES["stack"])
