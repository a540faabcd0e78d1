"""What inventory_check.yml and allocate.yml refuse before anything runs."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret
from inventories import inventory_checked, played, written

from lookup_plugins import controller

ROOT = Path(__file__).resolve().parents[2]
# A play on localhost is left out then.
NOT_LOCALHOST = ("--limit", "nodes")


def test_a_variable_of_a_wrong_type_ends_the_run_also_with_limit(tmp_path):
    given = json.dumps({"scalebench_no_proxy": "a,b", "campaign_cpu_threads": "{{ 1 }}"})
    groups = {"nodes": ("gpu01", "gpu02")}
    done = inventory_checked(tmp_path, groups, "-e", given, "--limit", "gpu02")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "gpu02: scalebench_no_proxy is text, not a list" in " ".join(done.stdout.split())


def test_the_type_of_an_encrypted_variable_is_checked_too(tmp_path):
    vault = VaultLib([("default", VaultSecret(b"a password"))])
    # Ansible does not template what it decrypts.
    given = {"preflight": "maybe", "scalebench_work_dir": "{{ place }}/x", "campaign_name": "a"}
    encrypted = {
        name: {"__ansible_vault": vault.encrypt(text).decode()} for name, text in given.items()
    }
    (tmp_path / "password").write_text("a password")
    arguments = ["-e", json.dumps(encrypted), "--vault-password-file", tmp_path / "password"]
    done = inventory_checked(tmp_path, {"nodes": ("gpu01",)}, *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    words = "gpu01: preflight is neither true nor false: give one of them gpu01:"
    assert f"{words} scalebench_work_dir is no absolute path" in " ".join(done.stdout.split())


def test_a_port_that_is_none_is_told_with_its_hosts(tmp_path):
    """Also where it is what Ansible would connect to."""
    node = {"cluster_ssh_port": "ssh", "ansible_port": "{{ cluster_ssh_port }}"}
    done = played(["-i", written(tmp_path, {"gpu01": node})])
    assert done.returncode == 2, done.stdout + done.stderr
    assert "gpu01: cluster_ssh_port is no whole number of 1 to 65535" in (
        " ".join(done.stdout.split())
    )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (None, ""), ("127.0.0.3", ""), ("127.0.0.3 ", "127.0.0.4: ansible_host=127.0.0.3 . Role"),
        ("127.2", "127.0.0.4: ansible_host=127.2. Role"), ("10.0.0.1", "ansible_host=10.0.0.1."),
    ],
)  # fmt: skip
def test_local_nodes_have_addresses_of_loopback_or_such_names(tmp_path, address, said):
    node = {"ansible_host": address} if address else {}
    hosts = {"127.0.0.2": {}, "127.0.0.4": node}
    inventory = written(tmp_path, hosts, ansible_connection="local", local_cluster_sshd=False)
    play = [{"hosts": "nodes", "gather_facts": False, "roles": ["local_cluster"]}]
    (tmp_path / "play.yml").write_text(json.dumps(play))
    done = played(["-i", inventory], tmp_path / "play.yml")
    assert done.returncode == (2 if said else 0), done.stdout + done.stderr
    assert said in done.stdout


def test_an_inventory_without_the_folder_of_scalebench_is_told_what_to_copy(tmp_path):
    done = inventory_checked(tmp_path, {"nodes": ("gpu01", "gpu02")}, told=False)
    assert done.returncode == 2, done.stdout + done.stderr
    words = "gpu[01-02]: scalebench_work_dir is not set: copy inventory/example for servers"
    assert words in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("without_root", "local", "code"),
    [((), (), 0), (("gpu01", "gpu02"), (), 0), (("gpu01",), (), 2), (("gpu01",), ("gpu02",), 0)],
)
def test_servers_with_and_without_root_in_one_cluster_are_refused(
    tmp_path, without_root, local, code
):
    groups = {"nodes": ("gpu01", "gpu02"), "unprivileged_nodes": without_root, "local_nodes": local}
    done = inventory_checked(tmp_path, groups, *NOT_LOCALHOST)
    assert done.returncode == code, done.stdout + done.stderr
    words = "gpu01 in group unprivileged_nodes, and gpu02 not: put all hosts"
    assert (words in " ".join(done.stdout.split())) is (code == 2)


@pytest.mark.parametrize(
    ("folder", "connection", "code"),
    [
        ('"quoted"', "ssh", 2),
        ("50% off", "ssh", 2),
        ("50% off", "local", 0),
        ("it's", "ssh", 0),
        ("back\\slash", "ssh", 0),
    ],
)
def test_a_state_folder_whose_path_ssh_would_change_is_refused(tmp_path, folder, connection, code):
    given = {"scalebench_state_dir": str(tmp_path / folder), "ansible_connection": connection}
    done = inventory_checked(tmp_path, {"nodes": ("gpu01",)}, "-e", json.dumps(given))
    assert done.returncode == code, done.stdout + done.stderr
    refused = f"{folder}: ssh cannot be given a path"
    assert (refused in " ".join(done.stdout.split())) is (code == 2)


@pytest.mark.parametrize(
    ("variables", "arguments", "said"),
    [
        (
            {"exclude": "gpu01"},
            (),
            "exclude is a variable of the inventory, and nodes are left out",
        ),
        ({}, ("-e", "exclude=gpu01", "--limit", "gpu01"), "-e exclude: it leaves out all nodes of"),
        ({}, ("-e", "exclude=2001:db8::1", "--limit", "2001*"), "-e exclude: it leaves out all"),
        ({}, ("-e", "exclude=gpu01", "--limit", "gpu0*"), ""),
        ({}, ("-e", "exclude="), ""),
        ({}, ("-e", '{"exclude": 5}'), "exclude is a whole number, not a list of texts: write it"),
        ({}, ("-e", '{"exclude": null}'), "exclude has no value: give it one, or leave it out"),
    ],
)
def test_who_would_not_be_left_out_or_alone_is_told(tmp_path, variables, arguments, said):
    hosts = {name: {"ansible_host": name} for name in ("gpu01", "gpu02", "2001:db8::1")}
    done = played(["-i", written(tmp_path, hosts, **variables), *arguments])
    assert done.returncode == (2 if said else 0), done.stdout + done.stderr
    assert said in " ".join(done.stdout.split())


def test_exclude_of_one_host_is_told_and_that_of_a_play_is_not(tmp_path):
    hosts = {"gpu01": {}, "gpu02": {"exclude": "gpu01"}}
    done = played(["-i", written(tmp_path, hosts)])
    assert done.returncode == 2 and "exclude is a variable of the inv" in " ".join(
        done.stdout.split()
    )
    check = ROOT / "playbooks/inventory_check.yml"
    play = [{"import_playbook": str(check), "vars": {"exclude": "gpu02"}}]
    (tmp_path / "play.yml").write_text(json.dumps(play))
    done = played(["-i", written(tmp_path, {"gpu01": {}, "gpu02": {}})], tmp_path / "play.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_state_folder_that_is_no_text_on_one_node_is_told_by_its_type(tmp_path):
    hosts = {"gpu01": {"scalebench_state_dir": ["{{ no }}"]}, "gpu02": {}}
    done = played(["-i", written(tmp_path, hosts)])
    assert done.returncode == 2, done.stdout + done.stderr
    assert "gpu01: scalebench_state_dir is a list, not text" in " ".join(done.stdout.split())


def test_the_nodes_of_one_key_are_of_one_state_folder(tmp_path):
    sources = []
    for name in ("first", "second"):
        hosts = {f"{name}{number}": None for number in (1, 2)}
        variables = {"scalebench_work_dir": "/work", "scalebench_state_dir": "{{ inventory_dir }}"}
        (tmp_path / name).mkdir()
        file = tmp_path / name / "hosts.yml"
        file.write_text(json.dumps({"nodes": {"hosts": hosts}}))
        (file.parent / "group_vars").mkdir()
        (file.parent / "group_vars/nodes.yml").write_text(json.dumps(variables))
        sources += ["-i", file]
    done = played(sources)
    assert done.returncode == 2, done.stdout + done.stderr
    said = "".join(done.stdout.split())
    folders = [f"{name}[1-2]:{tmp_path}/{name}" for name in ("first", "second")]
    assert f"differsbetweenthenodes:{';'.join(folders)}.Put" in said


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("ANSIBLE_STRATEGY", "free", "strategy free: the nodes of a cell start together"),
        ("ANSIBLE_STRATEGY", "host_pinned", "strategy host_pinned: the nodes of a cell start"),
        ("ANSIBLE_STRATEGY", "debug", ""),
        ("ANSIBLE_TASK_TIMEOUT", "600", "task_timeout 600: tasks take as long as a training"),
        ("carrier", "pigeon", "carrier pigeon: there is none of that name"),
    ],
)
def test_settings_that_a_campaign_cannot_have_are_refused(
    tmp_path, monkeypatch, setting, value, said
):
    monkeypatch.setenv(setting, value)
    given = ("-e", f"{setting}={value}") if setting == "carrier" else ()
    only = (*NOT_LOCALHOST, "--tags", "cell")
    done = inventory_checked(tmp_path, {"nodes": ("gpu01",)}, *given, *only)
    assert done.returncode == (2 if said else 0), done.stdout + done.stderr
    assert said in " ".join(done.stdout.split())
    assert said or f"strategy {value}: the nodes" not in done.stdout


def test_all_that_is_wrong_with_inventory_and_settings_is_told_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("ANSIBLE_STRATEGY", "free")
    monkeypatch.setenv("ANSIBLE_TASK_TIMEOUT", "600")
    groups = {"nodes": ("gpu01", "gpu02"), "unprivileged_nodes": ("gpu01",)}
    # No path: whatever reads it as one must not be asked.
    given = json.dumps({"scalebench_state_dir": ["x"]})
    done = inventory_checked(tmp_path, groups, "-e", given, *NOT_LOCALHOST)
    assert done.returncode == 2, done.stdout + done.stderr
    words = (
        "strategy free: the nodes of a cell",
        "Ansible configuration in use task_timeout 600: tasks take as long",
        "limits a repeat gpu01 in group unprivileged_nodes",
        "inventory of each part gpu[01-02]: scalebench_state_dir is a list, not text",
    )
    said = " ".join(done.stdout.split())
    assert [word for word in words if word not in said] == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"carrier": "ssh"}, ""),
        ({"carrier": "slurm"}, "the nodes come from Slurm, and gpu01, gpu02 in group nodes of"),
        ({"carrier": "slurm", "slurm_time": 5400}, "localhost: slurm_time is a whole number"),
    ],
)
def test_nodes_of_an_inventory_beside_those_of_slurm_are_refused(tmp_path, given, said):
    arguments = ["-i", written(tmp_path, {"gpu01": {}, "gpu02": {}}), "-e", json.dumps(given)]
    done = played(arguments, ROOT / "playbooks/allocate.yml")
    assert done.returncode == (2 if said else 0), done.stdout + done.stderr
    assert said in " ".join(done.stdout.split())


def test_a_state_folder_of_another_account_is_refused_with_a_way_out(tmp_path):
    (tmp_path / "state").touch()
    given = ["-e", f"scalebench_state_dir={tmp_path}/state/x"]
    done = inventory_checked(tmp_path, {"nodes": ("gpu01",)}, *given)
    assert done.returncode == 2, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert f"{tmp_path}/state/x: {controller.account()} cannot write there; run this as the" in said
    assert inventory_checked(tmp_path, {"nodes": ("gpu01",)}, *given, "--check").returncode == 0


def test_who_can_create_files_where(tmp_path):
    looked_up = controller.LookupModule().run
    folder = tmp_path / "mine"
    folder.mkdir()
    (tmp_path / "mine/file").touch()
    (tmp_path / "mine/lost").symlink_to(tmp_path / "nowhere")
    may = {".": True, "a/b": True, "file": False, "file/a": False, "lost": False, "lost/a": False}
    for path, writable in may.items():
        assert looked_up(["writes"], path=str(folder / path)) == [writable]
    for path in ("~/a", "$HOME/a", "~", "$HOME"):
        assert looked_up(["writes"], path=path) == [True]
    if os.geteuid() == 0:
        os.seteuid(65534)
        try:
            assert looked_up(["writes"], path="/a/b") == [False]
            assert looked_up(["writes"], path="/tmp/a") == [True]
        finally:
            os.seteuid(0)


def test_the_controller_is_named_as_its_programs_name_it(monkeypatch):
    lookup = controller.LookupModule()
    said = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        for command in (["id", "-un"], ["uname", "-n"])
    ]
    assert lookup.run(["account", "host"]) == said
    assert lookup.run(["user"]) == said[:1]
    monkeypatch.setattr(controller.os, "geteuid", lambda: 2**31 - 2)
    with pytest.raises(controller.AnsibleLookupError, match="has no name: add it to /etc/passwd"):
        lookup.run(["account"])
    # A message about something else has no use for the name.
    assert lookup.run(["user"]) == ["user 2147483646"]
    text = (ROOT / "playbooks/inventory_check.yml").read_text()
    assert "lookup('controller', 'account')" not in text
