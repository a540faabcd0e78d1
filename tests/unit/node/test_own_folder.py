"""A folder that two machines share is refused."""

import json
import os
import socket
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import own_folder
from ansible_collections.scalebench.core.plugins.module_utils.node.own_folder import keep_own


@pytest.fixture
def machine(monkeypatch):
    """Return a function that makes this machine another one."""
    return lambda name: monkeypatch.setattr(own_folder.socket, "gethostname", lambda: name)


def test_a_folder_is_the_machines_that_came_first(tmp_path, machine):
    folder = tmp_path / "work"
    machine("gpu01")
    assert keep_own(str(folder), only_verify=True) and not folder.exists()
    assert keep_own(str(folder))
    assert not keep_own(str(folder))
    assert [path.name for path in folder.iterdir()] == ["node.json"]
    machine("gpu02")
    for only_verify in (True, False):
        with pytest.raises(ValueError, match="of machine gpu01, and this is gpu02: give each node"):
            keep_own(str(folder), only_verify)


def test_copies_of_one_image_are_told_apart_and_a_renamed_node_is_told_the_way_out(
    tmp_path, machine
):
    # Marks of before hold the number of the image too.
    number = Path("/etc/machine-id")
    mark = tmp_path / "node.json"
    text = number.read_text().strip() if number.exists() else ""
    mark.write_text(json.dumps({"hostname": "gpu01", "machine_id": text}))
    machine("gpu01")
    assert not keep_own(str(tmp_path))
    machine("gpu02")
    with pytest.raises(ValueError, match=f"after gpu01 was renamed, remove {mark}"):
        keep_own(str(tmp_path))
    mark.unlink()
    assert keep_own(str(tmp_path))


def test_a_damaged_mark_is_not_taken_for_ours(tmp_path):
    for text in ("{", "[]"):
        (tmp_path / "node.json").write_text(text)
        with pytest.raises(ValueError, match=f"remove {tmp_path}/node.json"):
            keep_own(str(tmp_path))
    (tmp_path / "node.json").unlink()
    assert keep_own(str(tmp_path))
    assert json.loads((tmp_path / "node.json").read_text())["hostname"] == socket.gethostname()


@pytest.mark.parametrize("left", [b"", bytes(30)], ids=["nothing", "zeros"])
def test_a_mark_that_a_power_failure_left_empty_is_written_again(tmp_path, machine, left):
    machine("gpu01")
    (tmp_path / "node.json").write_bytes(left)
    assert keep_own(str(tmp_path), only_verify=True)
    assert (tmp_path / "node.json").read_bytes() == left
    assert keep_own(str(tmp_path)) and not keep_own(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["node.json"]


def test_of_two_machines_that_find_an_empty_mark_one_is_refused(tmp_path, machine, monkeypatch):
    machine("gpu02")
    (tmp_path / "node.json").touch()
    rename = own_folder.os.rename

    def be_slower(mark, part):
        (tmp_path / "node.json").write_text(json.dumps({"hostname": "gpu01"}))
        rename(mark, part)

    monkeypatch.setattr(own_folder.os, "rename", be_slower)
    with pytest.raises(ValueError, match="of machine gpu01"):
        keep_own(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["node.json"]


def test_a_mark_is_on_the_disk_before_it_has_its_name_and_its_name_after_it(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def noted(opened):
        synced.append((os.fstat(opened).st_ino, (tmp_path / "node.json").exists()))
        fsync(opened)

    monkeypatch.setattr(os, "fsync", noted)
    keep_own(str(tmp_path))
    mark = (tmp_path / "node.json").stat().st_ino
    assert synced == [(mark, False), (tmp_path.stat().st_ino, True)]


def test_what_killed_processes_of_this_machine_left_is_removed(tmp_path, machine):
    machine("gpu")
    ended = 1 << 23  # above the kernel's largest pid
    stay = {f"node.json.gpu.{os.getppid()}", f"node.json.gpu.01.{ended}", f"node.json.b.{ended}"}
    for name in (*stay, f"node.json.gpu.{ended}"):
        (tmp_path / name).touch()
    for is_new in (True, False):
        assert keep_own(str(tmp_path)) == is_new
        assert {path.name for path in tmp_path.iterdir()} == {*stay, "node.json"}
        (tmp_path / f"node.json.gpu.{ended}").touch()


def test_of_two_machines_at_once_one_is_refused(tmp_path, machine, monkeypatch):
    machine("gpu02")
    make = own_folder.make_folder

    def be_slower(folder):
        make(folder)
        (tmp_path / "node.json").write_text(json.dumps({"hostname": "gpu01"}))

    monkeypatch.setattr(own_folder, "make_folder", be_slower)
    with pytest.raises(ValueError, match="of machine gpu01"):
        keep_own(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["node.json"]


def test_a_mark_that_is_a_pipe_or_commands_a_terminal_is_shown_harmless(tmp_path):
    (tmp_path / "node.json").write_text(json.dumps({"hostname": "\x1b[2Jgpu01"}))
    with pytest.raises(ValueError, match="of machine gpu01,"):
        keep_own(str(tmp_path))
    (tmp_path / "node.json").unlink()
    os.mkfifo(tmp_path / "node.json")
    with pytest.raises(ValueError, match="of machine unknown,"):
        keep_own(str(tmp_path))


def test_a_mark_with_content_is_never_out_of_its_place(tmp_path, monkeypatch):
    keep_own(str(tmp_path))
    monkeypatch.setattr(own_folder.os, "rename", lambda *_: pytest.fail("moved"))
    assert not keep_own(str(tmp_path))
    own_folder._remove_empty(str(tmp_path / "node.json"), str(tmp_path / "part"))
