"""Folders that no other user can change, whatever others made first."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.node import protected
from ansible_collections.scalebench.core.plugins.module_utils.node.protected import (
    make_protected,
    who_could_change,
)

ROOT = Path(__file__).resolve().parents[3]
STRANGER = 65534


@pytest.fixture
def foreign(monkeypatch):
    """Return a function that gives a path to another user; the tests need not run as root."""

    def give(path):
        if os.geteuid() == 0:
            os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
            return STRANGER
        real = os.lstat
        state = real(path)
        told = os.stat_result((*state[:4], STRANGER, *state[5:10]))
        monkeypatch.setattr(os, "lstat", lambda asked: told if asked == str(path) else real(asked))
        return STRANGER

    return give


def test_missing_folders_are_created_whatever_the_umask(tmp_path):
    previous = os.umask(0)
    try:
        make_protected(str(tmp_path / "above/one"))
    finally:
        os.umask(previous)
    assert (tmp_path / "above").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "above/one").stat().st_mode & 0o777 == 0o755
    make_protected(str(tmp_path / "above/one"))


def test_nothing_is_created_below_a_folder_that_others_may_write(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ValueError, match=r"others can write to .*/open \(mode 0777\), who could"):
        make_protected(str(tmp_path / "open/one"))
    assert list((tmp_path / "open").iterdir()) == []


def test_a_folder_that_others_open_while_it_is_created_is_refused(tmp_path, monkeypatch):
    make = os.makedirs

    def make_and_open(path, **given):
        make(path, **given)
        os.chmod(path, 0o777)

    monkeypatch.setattr(os, "makedirs", make_and_open)
    with pytest.raises(ValueError, match=r"others can write to .*/one \(mode 0777\)"):
        make_protected(str(tmp_path / "one"))


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777])
def test_a_folder_that_others_may_write_is_refused(tmp_path, mode):
    tmp_path.chmod(mode)
    assert who_could_change(str(tmp_path)) == (f"others can write to {tmp_path} (mode {mode:04o})")


def test_a_sticky_folder_protects_what_is_ours_and_nothing_else(tmp_path, foreign):
    tmp_path.chmod(0o1777)
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    user = foreign(tmp_path / "theirs")
    assert who_could_change(str(tmp_path / "ours/one")) == ""
    (tmp_path / "ours/link").symlink_to(tmp_path)
    assert who_could_change(str(tmp_path / "ours/link/ours")) == ""
    assert "others can write" in who_could_change(str(tmp_path / "ours/link"))
    reason = f"{tmp_path}/theirs belongs to user {user}"
    assert who_could_change(str(tmp_path / "theirs")) == reason
    assert who_could_change(str(tmp_path / "theirs/one")) == reason


def test_a_link_counts_by_its_owner_and_by_its_target(tmp_path, foreign):
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "loop").symlink_to("loop")
    assert who_could_change(str(tmp_path / "link/one")) == ""
    with pytest.raises(OSError, match="symbolic links"):
        who_could_change(str(tmp_path / "loop"))
    (tmp_path / "target").chmod(0o777)
    assert "link is a link, and others can write to" in who_could_change(str(tmp_path / "link"))
    (tmp_path / "target").chmod(0o755)
    foreign(tmp_path / "link")
    assert who_could_change(str(tmp_path / "link/one")).startswith(f"{tmp_path}/link belongs to")


def test_a_dangling_link_is_judged_by_where_it_leads(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open/later")
    assert "others can write" in who_could_change(str(tmp_path / "link"))


def test_root_follows_no_link_that_the_owner_of_the_folder_can_replace(tmp_path, foreign):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/link").symlink_to(tmp_path)
    user = foreign(tmp_path / "home/link")
    for path in ("home/link", "home/link/one"):
        reason = who_could_change(str(tmp_path / path), owner=user)
        assert reason == f"{tmp_path}/home/link is a link, and user {user} can replace it"
    with pytest.raises(ValueError, match="Remove it, or choose a folder"):
        make_protected(str(tmp_path / "home/link/one"), owner=user)
    assert not (tmp_path / "one").exists()
    (tmp_path / "home/theirs").mkdir()
    user = foreign(tmp_path / "home/theirs")
    (tmp_path / "home/theirs/of_root").symlink_to(tmp_path)
    assert "can replace" in who_could_change(str(tmp_path / "home/theirs/of_root/x"), owner=user)


@pytest.fixture
def entered():
    """Return a folder that other users may enter, which pytest's own they may not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)
        yield Path(folder)


def test_root_creates_below_the_owners_folder_with_no_more_rights_than_the_owner(
    entered, monkeypatch
):
    if os.geteuid() != 0:
        pytest.skip("needs root, who alone can act as another user")
    home, victim = entered / "home", entered / "victim"
    home.mkdir()
    victim.mkdir()
    os.chown(home, STRANGER, -1)
    make_protected(str(home / "above/one"), owner=STRANGER)
    assert {(home / name).stat().st_uid for name in ("above", "above/one")} == {STRANGER}
    # The owner wins the race: the link comes after root has looked.
    real = protected.who_could_change

    def look_and_lose(path, **given):
        reason = real(path, **given)
        if not (home / "late").is_symlink():
            (home / "late").symlink_to(victim)
        return reason

    monkeypatch.setattr(protected, "who_could_change", look_and_lose)
    with pytest.raises(PermissionError):
        make_protected(str(home / "late/one"), owner=STRANGER)
    assert list(victim.iterdir()) == []


@pytest.mark.parametrize("path", sorted((ROOT / "roles").glob("*/defaults/main.yml")), ids=str)
def test_no_role_works_below_a_folder_for_everybody(path):
    folders = ("/tmp", "/var/tmp", "/dev/shm", "/home")
    parts = [*path.parent.parent.rglob("*.yml"), *path.parent.parent.rglob("*.j2")]
    found = [
        f"{part}: {line}"
        for part in parts
        for line in part.read_text().splitlines()
        if not line.lstrip().startswith(("#", "description:", "- "))
        and any(folder in line for folder in folders)
    ]
    assert found == []


def run_playbook(*arguments):
    return subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook",
         "-e", f"ansible_python_interpreter={sys.executable}", *arguments],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def play(tmp_path, folder):
    """Apply role artefact as provision.yml does; return what Ansible said."""
    source = tmp_path / "archive"
    source.write_text("content")
    digest = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
    (tmp_path / "play.yml").write_text(f"""
- hosts: localhost
  gather_facts: false
  roles:
    - role: {ROOT}/roles/artefact
      artefact_name: archive
      artefact_key: none
      artefact_record: {{url: "file://{source}", sha256: {digest}}}
      artefact_path: {folder}/archive
""")
    return run_playbook("-i", "localhost,", "-c", "local", tmp_path / "play.yml")


@pytest.mark.parametrize("tag", ["cluster_ssh", "framework", "workload", "dataset"])
def test_no_server_is_provisioned_below_a_folder_that_somebody_made_first(tmp_path, tag):
    if os.geteuid() != 0:
        pytest.skip("needs root, who alone can make a folder of another user")
    scratch, state = tmp_path / "scratch", tmp_path / "state"
    (scratch / "scalebench").mkdir(parents=True)
    scratch.chmod(0o1777)
    os.chown(scratch / "scalebench", STRANGER, STRANGER)
    node = {
        "ansible_connection": "local",
        "ansible_host": "127.0.0.77",
        "scalebench_work_dir": f"{scratch}/scalebench",
        "scalebench_state_dir": str(state),
        "cluster_ssh_key": f"{state}/key",
        "cluster_ssh_known_hosts": f"{state}/known_hosts",
    }
    groups = {"nodes": {"hosts": {"node1": node}}, "local_nodes": {}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(groups))
    # Check mode: without the refusal it would install packages.
    said = run_playbook(
        "--check", "--tags", tag, "-i", tmp_path / "hosts.yml", ROOT / "playbooks/provision.yml"
    )
    assert said.returncode != 0
    words = " ".join(said.stdout.split())
    assert f"{scratch}/scalebench belongs to user {STRANGER}" in words, words


def test_role_artefact_downloads_nothing_into_what_somebody_made_first(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, who alone can make a folder of another user")
    folder = tmp_path / "scalebench"
    folder.mkdir()
    os.chown(folder, STRANGER, STRANGER)
    said = play(tmp_path, folder)
    assert said.returncode != 0
    assert f"{folder} belongs to user {STRANGER}" in " ".join(said.stdout.split())
    assert list(folder.iterdir()) == []
    os.chown(folder, 0, 0)
    said = play(tmp_path, folder)
    assert said.returncode == 0, said.stdout
    assert (folder / "archive").read_text() == "content"


def test_what_is_removed_is_removed_as_the_account_whose_folder_it_is(entered):
    if os.geteuid() != 0 or not shutil.which("su"):
        pytest.skip("needs root and su")
    (entered / "victim/sshd").mkdir(parents=True)
    (entered / "home/folder/sshd").mkdir(parents=True)
    for path in (entered / "home", entered / "home/folder", entered / "home/folder/sshd"):
        os.chown(path, STRANGER, -1)
    tasks = yaml.safe_load((ROOT / "roles/cluster_ssh/tasks/absent.yml").read_text())
    given = {
        "ansible_remote_tmp": "/tmp",
        "ansible_become_method": "su",
        "ansible_become_flags": "-s /bin/sh",
        "cluster_ssh_user": "nobody",
        "cluster_ssh_systemd": False,
        "cluster_ssh_directory": "{{ scalebench_work_dir }}/sshd",
        "__cluster_ssh_host_directory": "{{ cluster_ssh_directory }}_host",
    }
    play = {"hosts": "localhost", "gather_facts": False, "become": True, "vars": given}
    play["tasks"] = [task for task in tasks if "Remove" in task["name"]]
    (entered / "play.yml").write_text(yaml.safe_dump([play]))
    (entered / "link").symlink_to(entered / "victim")
    for folder, code in (("home/folder", 0), ("link", 2)):
        work = f"scalebench_work_dir={entered}/{folder} ansible_python_interpreter=/usr/bin/python3"
        said = run_playbook("-i", "localhost,", "-c", "local", "-e", work, entered / "play.yml")
        assert said.returncode == code, said.stdout
    assert (entered / "victim/sshd").exists() and not (entered / "home/folder/sshd").exists()


def bootstrap(folder, path=os.environ["PATH"]):
    """Run what role python_bootstrap runs before it unpacks, without Python on the node."""
    variables = yaml.safe_load((ROOT / "roles/python_bootstrap/vars/main.yml").read_text())
    text, _, _ = variables["__python_bootstrap_unpack"].partition("\nnew=")
    script = text.replace("{{ python_bootstrap_directory | quote }}", str(folder))
    # The way out, and the list of what is new, are not of this test.
    for other in ("exports", "record"):
        script = script.replace(f"{{{{ __python_bootstrap_{other} }}}}", "")
    return subprocess.run(
        ["/bin/sh", "-c", script], env={"PATH": path}, capture_output=True, text=True, check=False
    )


def test_python_is_not_unpacked_where_others_may_write(tmp_path):
    (tmp_path / "open").mkdir()
    assert bootstrap(tmp_path / "open/python").returncode == 0
    (tmp_path / "open").chmod(0o777)
    said = bootstrap(tmp_path / "open/python")
    assert said.returncode == 1
    assert f"{tmp_path}/open: another user could change what is run there" in said.stderr


@pytest.mark.parametrize("through", ["link/python", "link"])
def test_python_is_not_unpacked_through_links(tmp_path, through):
    (tmp_path / "good").mkdir()
    (tmp_path / "link").symlink_to("good")
    said = bootstrap(tmp_path / through)
    assert said.returncode == 1
    assert f"{tmp_path}/link is a link" in said.stderr


def test_python_is_not_unpacked_where_nobody_can_tell_who_may_write(tmp_path):
    for name in ("id", "dirname"):
        (tmp_path / name).symlink_to(shutil.which(name))
    said = bootstrap(tmp_path / "folder", path=str(tmp_path))
    assert said.returncode == 1
    assert f"{tmp_path}: another user could change what is run there, or find is" in said.stderr


def test_python_is_not_unpacked_in_the_folder_of_another_user(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, who alone can make a folder of another user")
    os.chown(tmp_path, STRANGER, STRANGER)
    assert bootstrap(tmp_path / "python").stderr.startswith(f"{tmp_path}: another user")


def unpacking():
    """Return the text of every task that unpacks an archive, and of the script that does."""
    for path in sorted((ROOT / "roles").glob("*/tasks/*.yml")):
        for task in path.read_text().split("- name: ")[1:]:
            if "ansible.builtin.unarchive:" in task:
                yield f"{path.parts[-3]}/{path.stem}", task
    script = (ROOT / "roles/python_bootstrap/vars/main.yml").read_text()
    yield "python_bootstrap", script


@pytest.mark.parametrize(("where", "text"), list(unpacking()))
def test_what_is_unpacked_belongs_to_who_unpacks_it(where, text):
    # As root, tar gives files to the users whose numbers the archive has, any of the node's.
    assert "--no-same-owner" in text, where
    assert "--no-same-permissions" in text, where
