"""The folders of the cluster's sshd: whose they are, what is in them; no node is started here."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def played(tmp_path, work, parts=("keys", "configure"), first=(), hosts=(), **given):
    """Run parts of role cluster_ssh on a node without an sshd, below ``work``."""
    node = {
        "ansible_host": "127.0.0.2",
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        # As for the local nodes: what Ansible sends is built and compiled once, not once a test.
        "scalebench_bytecode": True,
        "scalebench_state_dir": str(tmp_path / "state"),
        "scalebench_work_dir": str(work),
        "cluster_ssh_systemd": False,
        "cluster_ssh_user": "root",
        "cluster_ssh_members": ["node1"],
        **given,
    }
    steps = [
        *first,
        *(
            {"ansible.builtin.include_role": {"name": "cluster_ssh", "tasks_from": part}}
            for part in parts
        ),
    ]
    play = [{"hosts": "node1", "gather_facts": False, "tasks": steps}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play))
    (tmp_path / "hosts.yml").write_text(
        yaml.safe_dump(
            {"all": {"hosts": dict.fromkeys(hosts or node["cluster_ssh_members"], node)}}
        )
    )
    return subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", tmp_path / "hosts.yml",
         tmp_path / "play.yml"],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def configured(tmp_path, work, **given):
    """Create keys and files of a node's sshd as role cluster_ssh does."""
    done = played(tmp_path, work, **given)
    assert done.returncode == 0, done.stdout


def test_host_keys_are_apart_from_what_containers_get(tmp_path):
    (tmp_path / "work").mkdir()
    if os.geteuid() == 0:
        # A user's own checkout: root starts local nodes there all the same.
        os.chown(tmp_path / "work", 65534, 65534)
    configured(tmp_path, tmp_path / "work")
    clients, host = tmp_path / "work/sshd", tmp_path / "work/sshd_host"
    # As roles/framework/defaults: framework_ssh_dir is cluster_ssh_directory.
    assert {path.name for path in clients.iterdir()} == {
        *("authorized_keys", "known_hosts", "ssh_config", "sshd_config"),
        *("id_ed25519", "id_ed25519.pub"),
    }
    assert {path.name for path in host.iterdir()} == {"host_ed25519", "host_ed25519.pub"}
    assert [folder.stat().st_mode & 0o777 for folder in (clients, host)] == [0o700, 0o700]
    assert f'HostKey "{host}/host_ed25519"' in (clients / "sshd_config").read_text()
    # A node is known by the key that sshd has.
    public = (host / "host_ed25519.pub").read_text().split()[1]
    assert public in (clients / "known_hosts").read_text()


def test_the_files_of_another_user_belong_to_that_user(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, who alone works for another user")
    # The account has to pass the folders above, which pytest closes.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        work = Path(folder, "scalebench")
        made = {"protected_folder": {"paths": [str(work)], "owner": "nobody"}}
        configured(tmp_path, work, first=[made], cluster_ssh_user="nobody")
        paths = [work, *work.rglob("*")]
        assert {path.name for path in paths} >= {"id_ed25519", "host_ed25519", "authorized_keys"}
        assert {path.owner() for path in paths} == {"nobody"}
        assert Path(folder).owner() == "root"
        # As the service does: this user's sshd takes its configuration and keys.
        command = ["/usr/sbin/sshd", "-T", "-f", str(work / "sshd/sshd_config")]
        told = subprocess.run(command, user="nobody", group="nogroup", extra_groups=[],
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert told.returncode == 0, told.stderr
        assert {"usepam no", "allowusers nobody"} < set(told.stdout.splitlines())
    assert (tmp_path / "state/ssh/id_ed25519").owner() == "root"


def test_a_renewal_that_is_refused_replaces_no_key(tmp_path):
    given = {"cluster_ssh_members": ["node1", "node2"], "cluster_ssh_rotate": True}
    refused = played(tmp_path, tmp_path / "work", parts=["together"], **given)
    assert "cluster_ssh_rotate=true needs every node of the cluster" in refused.stdout
    assert not (tmp_path / "state").exists() and not (tmp_path / "work").exists()


def test_unknown_members_and_values_with_spaces_are_refused_before_a_file_is_written(tmp_path):
    environment = {"A": "b c", "B": 'd"', "C": "e\\", "D": "f"}
    given = {"cluster_ssh_members": ["node1", "nope"], "cluster_ssh_environment": environment}
    refused = played(tmp_path, tmp_path / "work", parts=["together"], hosts=["node1"], **given)
    told = " ".join(refused.stdout.split())
    assert "cluster_ssh_members: the inventory has no host nope" in told
    assert (
        "sshd takes no value with a space, a quote or a backslash, as that of A, B, C has" in told
    )
    assert not (tmp_path / "state").exists() and not (tmp_path / "work").exists()
