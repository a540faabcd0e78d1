"""The folder that containers of published images get has no host key; no node is started here."""

import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_host_keys_are_apart_from_what_containers_get(tmp_path):
    (tmp_path / "work").mkdir()
    if os.geteuid() == 0:
        # A user's own checkout: root starts local nodes there all the same.
        os.chown(tmp_path / "work", 65534, 65534)
    node = {
        "ansible_host": "127.0.0.2",
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "scalebench_state_dir": str(tmp_path / "state"),
        "scalebench_work_dir": str(tmp_path / "work"),
        "cluster_ssh_systemd": False,
        "cluster_ssh_user": "root",
        "cluster_ssh_members": ["node1"],
    }
    steps = [
        {"ansible.builtin.include_role": {"name": "cluster_ssh", "tasks_from": part}}
        for part in ("keys", "configure")
    ]
    play = [{"hosts": "all", "gather_facts": False, "tasks": steps}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play))
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {"node1": node}}}))
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", tmp_path / "hosts.yml",
         tmp_path / "play.yml"],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
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
