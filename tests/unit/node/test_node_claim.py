"""The claim of a campaign on a node."""

import contextlib
import errno
import fcntl
import io
import json
import os
import re
import subprocess

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import claim
from ansible_collections.scalebench.core.plugins.module_utils.node.claim import (
    has_ended,
    held,
    own,
    release,
    take,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import attended

FIRST = {"campaign": "first", "taken": "0", "boot_id": "b", "pid": 10, "start": 5}
SECOND = {**FIRST, "campaign": "second", "pid": 11, "start": 6}


def test_one_campaign_at_a_time_has_a_node(tmp_path):
    node = str(tmp_path / "work")
    assert take(node, FIRST) is None
    assert take(node, FIRST) is None
    assert take(node, SECOND) == FIRST
    assert not release(node, SECOND)
    assert release(node, FIRST)
    assert take(node, SECOND) is None
    assert held(node) == SECOND


def test_a_node_that_is_claimed_again_is_held_since_the_first_time(tmp_path):
    node = str(tmp_path)
    take(node, {**FIRST, "taken": "1"})
    take(node, {**FIRST, "taken": "2"})
    assert held(node) == {**FIRST, "taken": "1"}
    again = {**FIRST, "campaign": "second", "taken": "3"}
    take(node, again)
    assert held(node) == again


def test_a_claim_for_which_the_disk_has_no_room_is_named(tmp_path, monkeypatch):
    class Full(io.StringIO):
        def close(self):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(claim, "open", lambda *_given, **_more: Full(), raising=False)
    monkeypatch.setattr(claim, "_locked", lambda _folder: contextlib.nullcontext())
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/claim.json'"):
        take(str(tmp_path), FIRST)


def test_a_node_is_released_for_a_playbook_that_ended(tmp_path):
    node = str(tmp_path)
    take(node, FIRST)
    holder = {key: FIRST[key] for key in ("boot_id", "pid", "start")}
    assert take(node, holder | {"campaign": ""}) is None
    assert release(node, holder)
    assert held(node) is None


def test_only_the_claim_that_is_known_to_be_dead_is_replaced(tmp_path):
    node = str(tmp_path)
    take(node, FIRST)
    assert take(node, SECOND, dead={**FIRST, "start": 4}) == FIRST
    assert take(node, SECOND, dead=FIRST) is None


def test_equal_pids_of_two_containers_are_two_campaigns(tmp_path):
    node = str(tmp_path)
    ours, theirs = ({**FIRST, "pid_namespace": f"pid:[{number}]"} for number in (1, 2))
    assert take(node, ours) is None
    assert take(node, theirs) == ours
    assert not release(node, theirs)


@pytest.mark.parametrize(
    "text",
    [
        '{"campaign": "fi',
        "[1]",
        "[" * 100_000,
        json.dumps({**FIRST, "pid": [1]}),
        json.dumps({**FIRST, "job": 1}),
        json.dumps({"pid": 1, "start": 2}),
    ],
)
def test_a_damaged_claim_counts_as_none_and_releasing_nothing_is_not_an_error(tmp_path, text):
    (tmp_path / "claim.json").write_text(text)
    assert held(str(tmp_path)) is None
    assert take(str(tmp_path), SECOND) is None
    assert not release(str(tmp_path / "nowhere"), FIRST)


def test_the_first_controller_owns_a_node_until_another_takes_it_over(tmp_path):
    node = str(tmp_path)
    assert own(node, "anna", take_over=False, only_read=True) == "anna"
    assert list(tmp_path.iterdir()) == []
    assert own(node, "anna", take_over=False) == "anna"
    assert own(node, "ben", take_over=False) == "anna"
    assert own(node, "ben", take_over=True, only_read=True) == "anna"
    assert own(node, "ben", take_over=True) == "ben"
    assert own(node, "anna", take_over=False) == "ben"


def test_a_truncated_name_of_an_owner_counts_as_none(tmp_path):
    (tmp_path / "owner.json").write_text('{"contr')
    assert own(str(tmp_path), "ben", take_over=False) == "ben"


def test_a_playbook_that_proc_does_not_show_is_taken_for_dead_only_if_it_is(monkeypatch):
    """As where /proc is mounted with hidepid, and the process is another account's."""
    living, ended = subprocess.Popen(["sleep", "60"]), subprocess.Popen(["true"])
    ended.wait()
    monkeypatch.setattr(claim, "read_process", lambda _pid: None)
    here = claim._place()
    assert not has_ended({**FIRST, **here, "pid": living.pid})
    assert has_ended({**FIRST, **here, "pid": ended.pid})
    living.kill()
    living.wait()


def test_a_lock_that_somebody_keeps_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(claim, "_PATIENCE", 0.1)
    for name, taken in (
        ("claim.lock", lambda: take(str(tmp_path), FIRST)),
        ("busy.lock", lambda: attended(str(tmp_path), "run").__enter__()),
    ):
        with open(tmp_path / name, "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            with pytest.raises(ValueError, match=re.escape(str(tmp_path / name))):
                taken()


def test_pipes_in_the_place_of_files_stop_nobody(tmp_path):
    for name in ("claim.json", "owner.json"):
        os.mkfifo(tmp_path / name)
    assert held(str(tmp_path)) is None
    assert own(str(tmp_path), "ben", take_over=False) == "ben"
    assert take(str(tmp_path), SECOND) is None
    other = tmp_path / "other"
    other.mkdir()
    os.mkfifo(other / "claim.lock")
    with pytest.raises(OSError):
        take(str(other), SECOND)


@pytest.mark.parametrize("name", ["claim.lock", "claim.json.part", "owner.json.part", "busy.lock"])
def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path, name):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / name).symlink_to(tmp_path / "precious")
    work_dir = str(tmp_path / "work")
    locked = name.endswith(".lock")
    with pytest.raises(OSError, match="symbolic links") if locked else contextlib.nullcontext():
        own(work_dir, "ben", take_over=False)
        take(work_dir, FIRST)
        with attended(work_dir, "run"):
            pass
    assert (tmp_path / "precious").read_text() == "mine"
    assert locked or held(work_dir) == FIRST


HERE = {"boot_id": "today", "machine_id": "m", "pid_namespace": "pid:[4026531836]"}
BEFORE = {**HERE, "boot_id": "yesterday", "controller": "anna@head", "pid": 1, "start": 1}


@pytest.mark.parametrize(
    ("of_claim", "here", "ended"),
    [
        ({}, {}, True),
        ({"machine_id": "other"}, {}, False),
        ({"controller": "anna@other"}, {}, False),
        ({"machine_id": ""}, {"machine_id": ""}, False),
        # Of two containers of one image nothing is known, nor of a claim of version 0.1.
        ({"pid_namespace": "pid:[1]"}, {"pid_namespace": "pid:[1]"}, False),
        ({"machine_id": None, "pid_namespace": None}, {}, False),
    ],
)
def test_a_reboot_of_its_machine_ends_an_ansible_playbook(monkeypatch, of_claim, here, ended):
    monkeypatch.setattr(claim, "_place", lambda: {**HERE, **here})
    assert has_ended({**BEFORE, **of_claim}, "anna@head") is ended
