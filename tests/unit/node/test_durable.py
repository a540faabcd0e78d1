"""A file is on the disk before it has its name, and its name after it."""

import os

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.durable import (
    make_folder,
    replace,
)


def test_content_comes_before_the_name_and_the_folder_after_it(tmp_path, monkeypatch):
    part, path = tmp_path / "a.part", tmp_path / "a"
    part.write_text("new")
    path.write_text("old")
    synced, fsync = [], os.fsync

    def noted(opened):
        synced.append((os.fstat(opened).st_ino, path.read_text()))
        fsync(opened)

    monkeypatch.setattr(os, "fsync", noted)
    own = part.stat().st_ino
    replace(str(part), str(path))
    assert synced == [(own, "old"), (tmp_path.stat().st_ino, "new")]
    assert not part.exists()


def test_a_link_takes_the_place_of_a_file(tmp_path):
    (tmp_path / "a.part").symlink_to("nowhere")
    (tmp_path / "a").write_text("old")
    replace(str(tmp_path / "a.part"), str(tmp_path / "a"))
    assert os.readlink(tmp_path / "a") == "nowhere"


def test_a_folder_and_its_parents_are_on_the_disk_when_they_are_made(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def noted(opened):
        synced.append((os.readlink(f"/proc/self/fd/{opened}"), sorted(os.listdir(opened))))
        fsync(opened)

    monkeypatch.setattr(os, "fsync", noted)
    make_folder(tmp_path / "a/b", 0o700)
    assert synced == [(str(tmp_path), ["a"]), (f"{tmp_path}/a", ["b"])]
    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o700
    make_folder(tmp_path / "a/b", 0o755)
    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o700
    assert len(synced) == 2


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "a")
