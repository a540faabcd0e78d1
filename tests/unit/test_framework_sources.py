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


def provide(tmp_path, server, version, archives="", path=os.environ["PATH"]):
    """Run the role's tasks for one source; return what Ansible said."""
    tasks = {
        "ansible.builtin.include_tasks": str(ROOT / "roles/framework/tasks/source.yml"),
        "vars": {
            "framework_source_archives": str(archives),
            # As roles/framework/vars/main.yml.
            "__framework_source_archive": f"{archives}/server-{version}.tar.gz",
            "__framework_source": {"name": "it", "repository": str(server), "version": version},
            "__framework_source_dir": str(tmp_path / "clone"),
        },
    }
    play = [{"hosts": "localhost", "gather_facts": False, "tasks": [tasks]}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play))
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", "localhost,", "-c", "local",
         "-e", f"ansible_python_interpreter={sys.executable} scalebench_bytecode=true",
         tmp_path / "play.yml"],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
             "PATH": path},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return " ".join(done.stdout.split())


def test_an_earlier_clone_is_brought_to_the_commit(tmp_path, server):
    place, first, second = server
    git("clone", "-q", place, tmp_path / "clone")
    assert "FAILED" not in provide(tmp_path, place, first)
    assert git("-C", tmp_path / "clone", "rev-parse", "HEAD") == first
    assert "FAILED" not in provide(tmp_path, place, second[:10])
    assert (tmp_path / "clone/file").read_text() == "2"


def test_a_branch_with_the_name_of_a_commit_is_refused(tmp_path, server):
    place, first, second = server
    git("-C", place, "branch", first[:10], second)
    answer = provide(tmp_path, place, first[:10])
    assert f"is at commit {second} of" in answer and f"{first[:10]} was asked for" in answer


def test_an_archive_of_another_commit_is_refused(tmp_path, server):
    place, first, second = server
    archives = tmp_path / "it's archives"
    archives.mkdir()
    options = ("archive", "--format=tar.gz", "--prefix=it/")
    git("-C", place, *options, "-o", archives / f"server-{second}.tar.gz", first)
    git("-C", place, *options, "-o", archives / f"server-{first}.tar.gz", first)
    answer = provide(tmp_path, place, second, archives)
    assert f"is of commit {first}, and {second} was asked for" in answer
    assert not (tmp_path / "clone").exists()
    assert "FAILED" not in provide(tmp_path, place, first, archives)
    assert (tmp_path / "clone/file").read_text() == "1"


def test_an_archive_that_names_no_commit_is_taken_by_its_name(tmp_path, server):
    place, first, _ = server
    archive = tmp_path / f"server-{first}.tar.gz"
    tree = git("-C", place, "rev-parse", f"{first}^{{tree}}")
    git("-C", place, "archive", "--format=tar.gz", "--prefix=it/", "-o", archive, tree)
    assert "FAILED" not in provide(tmp_path, place, first, tmp_path)
    assert (tmp_path / "clone/file").read_text() == "1"


@pytest.mark.parametrize("missing", ["git", "gzip"])
def test_an_archive_that_cannot_be_read_is_refused(tmp_path, server, missing):
    place, first, _ = server
    options = ("archive", "--format=tar.gz", "--prefix=it/")
    git("-C", place, *options, "-o", tmp_path / f"server-{first}.tar.gz", first)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in {"git", "gzip", "sh"} - {missing}:
        (programs / name).symlink_to(shutil.which(name))
    answer = provide(tmp_path, place, first, tmp_path, path=str(programs))
    assert "is of commit unknown" in answer and "needs git and gzip" in answer
    assert not (tmp_path / "clone").exists()


@pytest.mark.parametrize(
    ("option", "value"), [("framework_device", "cpu"), ("framework_container_mirror", "a/b")]
)
def test_an_option_for_all_nodes_that_one_of_them_has_otherwise_is_refused(tmp_path, option, value):
    node = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = {"node1": node, "node2": {**node, option: value}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    tasks = [{"ansible.builtin.import_tasks": str(ROOT / "roles/framework/tasks/main.yml")}]
    play = [{"hosts": "all", "gather_facts": False, "tasks": tasks}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play))
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", tmp_path / "hosts.yml",
         "--check", tmp_path / "play.yml"],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "must be the same on all nodes" in " ".join(done.stdout.split())
