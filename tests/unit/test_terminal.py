"""What Ansible prints of a task on many hosts: each message once, and every host that has it."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TASKS = [
    {"name": "Greet", "ansible.builtin.debug": {"msg": "all say this"}},
    {
        "name": "Set a fact",
        "ansible.builtin.set_fact": {"some": 1},
        "changed_when": True,
        "when": "inventory_hostname not in ['n2', 'n10']",
    },
    {
        "name": "Require an adapter",
        "ansible.builtin.fail": {"msg": "{{ inventory_hostname }} has no adapter"},
        "when": "inventory_hostname in ['n1', 'n2', 'n3', 'n11']",
    },
    {
        "name": "Require a disk",
        "ansible.builtin.fail": {"msg": "exit code {{ inventory_hostname[1:] }}"},
        "when": "inventory_hostname in ['n4', 'n12']",
    },
]


def printed(folder, *options, hosts="n[1:12]"):
    """Return the lines that the tasks leave on the hosts, by default twelve."""
    play = {"name": "Try", "hosts": "all", "gather_facts": False, "tasks": TASKS}
    (folder / "play.yml").write_text(json.dumps([play]))
    (folder / "hosts").write_text(f"{hosts} ansible_connection=local\n")
    program = str(Path(sys.executable).parent / "ansible-playbook")
    done = subprocess.run(
        [program, "-i", str(folder / "hosts"), str(folder / "play.yml"), *options],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (0 if hosts == "localhost" else 2), done.stderr
    return done.stdout.splitlines()


def test_each_message_is_printed_once_with_all_its_hosts(tmp_path):
    lines = printed(tmp_path)
    assert lines.count("all say this") == 1
    assert "  changed: Set a fact (n[1,3-9,11-12])" in lines
    at = next(i for i, line in enumerate(lines) if line.startswith("FAILED"))
    first = lines[at].split()[1].rstrip(":")
    assert lines[at + 1] == f"  {first} has no adapter"
    others = {"n1": "n[2-3,11]", "n2": "n[1,3,11]", "n3": "n[1-2,11]", "n11": "n[1-3]"}[first]
    assert lines[at + 2] == f"FAILED {others}: Require an adapter, with the message of {first}"


def test_a_host_with_a_message_of_its_own_is_named_with_it(tmp_path):
    lines = printed(tmp_path)
    for host in ("n4", "n12"):
        at = lines.index(f"FAILED {host}: Require a disk")
        assert lines[at + 1] == f"  exit code {host[1:]}"


def test_the_recap_has_a_line_for_hosts_with_the_same_counts(tmp_path):
    lines = printed(tmp_path, "--check")
    recap = [line.split(":")[0].strip() for line in lines if "unreachable=" in line]
    assert recap == ["n10", "n2", "n[1,3,11]", "n[4,12]", "n[5-9]"]


def test_verbose_is_ansibles_own_output(tmp_path):
    lines = printed(tmp_path, "-v")
    assert sum("unreachable=" in line for line in lines) == 12


def test_what_the_controller_does_alone_has_no_recap(tmp_path):
    lines = printed(tmp_path, hosts="localhost")
    assert lines == ["Try", "all say this", "  changed: Set a fact"]
