"""Sources of published programs are at the commit that was asked for, whatever the server has."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example")


@pytest.fixture
def server(tmp_path):
    """Return a repository of two commits and their hashes; the first has file 1, the second 2."""
    if shutil.which("git") is None:
        pytest.skip("no git here")
    place = tmp_path / "server"
    git("init", "-q", "-b", "main", place)
    commits = []
    for number in (1, 2):
        (place / "file").write_text(f"{number}")
        git("-C", place, "add", "file")
        git("-C", place, *AUTHOR, "commit", "-q", "-m", "one")
        commits.append(git("-C", place, "rev-parse", "HEAD"))
    return place, *commits


def git(*arguments):
    done = subprocess.run(["git", *map(str, arguments)], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def provide(tmp_path, server, version):
    """Run the role's tasks for one source; return what Ansible said."""
    tasks = {
        "ansible.builtin.include_tasks": str(ROOT / "roles/framework/tasks/source.yml"),
        "vars": {
            "framework_source_archives": "",
            "__framework_source": {"name": "it", "repository": str(server), "version": version},
            "__framework_source_dir": str(tmp_path / "clone"),
        },
    }
    play = [{"hosts": "localhost", "gather_facts": False, "tasks": [tasks]}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play))
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", "localhost,", "-c", "local",
         "-e", f"ansible_python_interpreter={sys.executable}", tmp_path / "play.yml"],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return " ".join(done.stdout.split())


def test_an_earlier_clone_is_brought_to_the_commit(tmp_path, server):
    place, first, second = server
    git("clone", "-q", place, tmp_path / "clone")
    assert "failed=0" in provide(tmp_path, place, first)
    assert git("-C", tmp_path / "clone", "rev-parse", "HEAD") == first
    assert "failed=0" in provide(tmp_path, place, second[:10])
    assert (tmp_path / "clone/file").read_text() == "2"


def test_a_branch_with_the_name_of_a_commit_is_refused(tmp_path, server):
    place, first, second = server
    git("-C", place, "branch", first[:10], second)
    answer = provide(tmp_path, place, first[:10])
    assert f"is at commit {second} of" in answer and f"{first[:10]} was asked for" in answer
