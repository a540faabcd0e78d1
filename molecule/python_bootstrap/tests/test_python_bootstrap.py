"""A Python on every node that Ansible can use, however little there was before."""

import hashlib
import json
import os
import subprocess

from testbed_nodes import ROOT, STATE

# Messages as Ansible writes them, not as our callback shortens them.
PLAIN = {
    "ANSIBLE_STDOUT_CALLBACK": "default",
    "ANSIBLE_FORCE_COLOR": "false",
    "MOLECULE_PROJECT_DIRECTORY": str(ROOT),
}
INVENTORY = ROOT / "molecule/shared/inventory"
VERSION = (STATE / "shared/python.version").read_text()
UNPACKED = f"/usr/local/bin/python{VERSION}"
GOOD = {"version": VERSION, "url": "file:///shared/python.tar.gz", "sha256": "0" * 64}


def ansible(*arguments):
    """Run an Ansible program on the scenario's inventory."""
    return subprocess.run(
        [*arguments, "-i", INVENTORY],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), **PLAIN},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def role(tmp_path, **variables):
    """Apply the role to node4, whose Python is too old."""
    play = {"hosts": "node4", "gather_facts": False, "vars": variables}
    play["tasks"] = [{"ansible.builtin.include_role": {"name": "python_bootstrap"}}]
    playbook = tmp_path / "playbook.json"
    playbook.write_text(json.dumps([play]))
    return ansible("ansible-playbook", str(playbook)).stdout


def test_modules_run_on_every_node():
    for name, python in {
        "node1": "/usr/bin/python3",
        "node2": "/usr/bin/python3",
        "node3": UNPACKED,
    }.items():
        said = ansible("ansible", name, "-m", "setup", "-a", "filter=ansible_python").stdout
        assert "SUCCESS" in said and f"executable: {python}" in said, said


def test_packages_can_be_installed_where_there_was_no_python():
    arguments = ("-m", "apt", "-a", "name=python3-apt state=present", "--check")
    said = ansible("ansible", "node1", *arguments).stdout
    assert "SUCCESS" in said, said


def test_what_came_is_listed_for_uninstall():
    for name, line in {
        "node1": "packages python3-minimal",
        "node3": f"files {UNPACKED}",
    }.items():
        file = "/var/lib/scalebench/python_bootstrap"
        said = ansible("ansible", name, "-m", "raw", "-a", f"cat {file}").stdout
        assert line in said.splitlines(), said


def test_nothing_is_left_of_the_unpacking():
    said = ansible("ansible", "node3", "-m", "raw", "-a", "ls /opt/scalebench").stdout
    assert "python" in said.split() and "python.new" not in said.split()


def test_an_old_python_without_an_archive_is_told(tmp_path):
    said = role(tmp_path)
    assert "node4 has Python 3.6 and Ansible needs" in said
    assert "python_bootstrap_archive" in said


def test_a_corrupted_archive_is_refused_and_nothing_unpacked(tmp_path):
    said = role(tmp_path, python_bootstrap_archive=GOOD)
    assert "FAILED" in said and "checksum did NOT match" in said
    left = ansible("ansible", "node4", "-m", "raw", "-a", "ls -A /opt/scalebench").stdout
    assert "python" not in left.split()


def test_a_package_manager_that_ansible_cannot_use_is_told(tmp_path):
    digest = hashlib.sha256((STATE / "shared/python.tar.gz").read_bytes()).hexdigest()
    said = role(tmp_path, python_bootstrap_archive={**GOOD, "sha256": digest})
    assert f"node4 has {UNPACKED} for Ansible, but /usr/bin/python3 is 3.6" in said
    assert "python_bootstrap_without_packages" in said
