"""What is kept of the payloads that Ansible builds, and for whom."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible import constants
from ansible_collections.scalebench.core.plugins.module_utils.node import durable
from ansible_collections.scalebench.core.plugins.plugin_utils import module_payload
from ansible_collections.scalebench.core.plugins.plugin_utils.module_payload import KeptPayloads

ROOT = Path(__file__).resolve().parents[2]
PING = "ansible.modules.ping-ZIP_DEFLATED-none"
CLAIM = "ansible.legacy.node_claim-ZIP_DEFLATED-none"


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Return a state folder; Ansible's folder of this playbook has payloads."""
    run(tmp_path, monkeypatch, "first")
    built = tmp_path / "first/ansiballz_cache"
    others = ["ansible.legacy.mine", "ansible_collections.a.b.plugins.modules.c"]
    for name in (PING, CLAIM, f"{PING}.lock", *(f"{name}-ZIP_DEFLATED-none" for name in others)):
        (built / name).write_text(name)
    return tmp_path / "state"


def run(tmp_path, monkeypatch, name):
    """Begin another playbook, which has a folder of its own; return it."""
    folder = tmp_path / name
    (folder / "ansiballz_cache").mkdir(parents=True)
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(folder))
    return folder / "ansiballz_cache"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_ansibles_modules_and_our_own_are_kept_for_the_next_playbook(tmp_path, state, monkeypatch):
    assert not KeptPayloads(state).restore()
    KeptPayloads(state).keep()
    second = run(tmp_path, monkeypatch, "second")
    assert KeptPayloads(state).restore()
    assert names(second) == [CLAIM, PING]
    assert (second / PING).read_text() == PING


def test_on_another_file_system_it_is_a_copy(tmp_path, state, monkeypatch):
    def refused(source, target):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refused)
    KeptPayloads(state).keep()
    second = run(tmp_path, monkeypatch, "second")
    assert KeptPayloads(state).restore()
    assert names(second) == [CLAIM, PING]
    assert (second / PING).stat().st_nlink == 1


def test_what_is_kept_is_on_the_disk_first(state, monkeypatch):
    synced = []

    def linked(source, target):
        assert str(source) in synced
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    def put(part, target):
        assert str(part) in synced
        part.rename(target)

    monkeypatch.setattr(durable, "sync", lambda path: synced.append(str(path)))
    monkeypatch.setattr(os, "link", linked)
    monkeypatch.setattr(durable.os, "replace", put)
    KeptPayloads(state).keep()
    (kept,) = state.glob("payloads/*")
    assert names(kept) == [CLAIM, PING] and synced[-1] == str(kept)


@pytest.mark.parametrize("which", [".", "payloads", "payloads/*"])
@pytest.mark.parametrize("shared", ["mode", "link", "owner"])
def test_what_another_account_may_change_is_neither_used_nor_written(
    tmp_path, state, monkeypatch, which, shared
):
    KeptPayloads(state).keep()
    (folder,) = state.glob(which) if which != "." else [state]
    if shared == "mode":
        folder.chmod(0o770)
    elif shared == "link":
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    for path in tmp_path.rglob("state/payloads/*/*"):
        path.unlink()
    KeptPayloads(state).keep()
    assert not list(tmp_path.rglob(f"state/payloads/*/{PING}"))
    second = run(tmp_path, monkeypatch, "second")
    assert not KeptPayloads(state).restore()
    assert names(second) == []


def test_module_utils_of_the_users_are_in_no_payload_that_is_kept(tmp_path, state, monkeypatch):
    monkeypatch.setattr(constants, "DEFAULT_MODULE_UTILS_PATH", [str(tmp_path)])
    KeptPayloads(state).keep()
    assert not state.exists()


def test_a_change_of_a_module_makes_another_folder_and_the_unused_go(tmp_path, state, monkeypatch):
    project = tmp_path / "project"
    (project / "library").mkdir(parents=True)
    monkeypatch.setattr(module_payload, "PROJECT", project)
    folders = []
    # What was built by code that was changed meanwhile is of neither.
    begun = KeptPayloads(state)
    (project / "library/node_claim.py").write_text("")
    begun.keep()
    assert not state.exists()

    def restored(number):
        (project / "library/node_claim.py").write_text(f"# {number}")
        return KeptPayloads(state).restore()

    for number in range(5):
        if number == 4:
            assert restored(0)
        assert not restored(number)
        KeptPayloads(state).keep()
        (made,) = {*(state / "payloads").iterdir()} - {*folders}
        os.utime(made, (number, number))
        folders.append(made)
    assert {*(state / "payloads").iterdir()} == {*folders} - {folders[1]}


def test_python_keeps_the_bytecode_of_what_ansible_imports(tmp_path):
    program = (
        "import sys\n"
        "from ansible.plugins.loader import init_plugin_loader\n"
        f"init_plugin_loader([{str(ROOT / 'collections')!r}])\n"
        "from ansible_collections.scalebench.core.plugins.module_utils.stats import distributions\n"
        "print(distributions.__cached__)\n"
    )
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True,
            cwd=tmp_path, check=True,
        )  # fmt: skip
        assert Path(done.stdout.strip()).is_file()
