"""A file is on the disk before it has its name, and its name after it."""

import os

from ansible_collections.scalebench.core.plugins.module_utils.node.durable import replace


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
