"""A folder that two machines share is refused."""

import json
import socket

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import own_folder
from ansible_collections.scalebench.core.plugins.module_utils.node.own_folder import keep_own


@pytest.fixture
def machine(monkeypatch):
    """Return a function that makes this machine another one."""

    def become(name, number):
        own = {"hostname": name, "machine_id": number}
        monkeypatch.setattr(own_folder, "_this_machine", lambda: own)

    return become


def test_a_folder_is_the_machines_that_came_first(tmp_path, machine):
    folder = tmp_path / "work"
    machine("gpu01", "1111")
    assert keep_own(str(folder), only_verify=True) and not folder.exists()
    assert keep_own(str(folder))
    assert not keep_own(str(folder))
    assert [path.name for path in folder.iterdir()] == ["node.json"]
    machine("gpu02", "2222")
    for only_verify in (True, False):
        with pytest.raises(ValueError, match="of machine gpu01, and this is gpu02: give each node"):
            keep_own(str(folder), only_verify)


def test_a_machine_with_a_new_name_or_a_new_system_keeps_its_folder(tmp_path, machine):
    machine("gpu01", "1111")
    keep_own(str(tmp_path))
    for name, number in (("renamed", "1111"), ("gpu01", "3333")):
        machine(name, number)
        assert not keep_own(str(tmp_path))


def test_a_damaged_mark_is_not_taken_for_ours(tmp_path):
    for text in ("{", "[]"):
        (tmp_path / "node.json").write_text(text)
        with pytest.raises(ValueError, match=f"remove {tmp_path}/node.json"):
            keep_own(str(tmp_path))
    (tmp_path / "node.json").unlink()
    assert keep_own(str(tmp_path))
    assert json.loads((tmp_path / "node.json").read_text())["hostname"] == socket.gethostname()


def test_of_two_machines_at_once_one_is_refused(tmp_path, machine, monkeypatch):
    machine("gpu02", "2222")
    make = own_folder.os.makedirs

    def be_slower(folder, **given):
        make(folder, **given)
        (tmp_path / "node.json").write_text(json.dumps({"hostname": "gpu01", "machine_id": "1"}))

    monkeypatch.setattr(own_folder.os, "makedirs", be_slower)
    with pytest.raises(ValueError, match="of machine gpu01"):
        keep_own(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["node.json"]
