"""The socket at which host_ranks.py and join_ranks.py meet."""

import os
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workloads/launch"))

import meeting


def test_who_joins_finds_who_waits_and_both_know_each_others_user():
    with meeting.listen("a:1", "node1") as listener, meeting.connect("a:1", "node1", 5) as joining:
        waiting, _ = listener.accept()
        assert meeting.other_user(waiting) == os.getuid()
        joining.sendall(b"one line\n")
        assert meeting.read_line(waiting) == "one line\n"
        waiting.close()


def test_jobs_and_nodes_of_one_machine_are_kept_apart():
    names = {meeting.name_of(job, node) for job in ("a:1", "a:2") for node in ("node1", "node2")}
    assert len(names) == 4
    assert all(name.startswith("\0") and len(name) < 108 for name in names)


def test_who_joins_may_come_first():
    late = []
    timer = threading.Timer(0.5, lambda: late.append(meeting.listen("b:1", "node1")))
    timer.start()
    meeting.connect("b:1", "node1", 10).close()
    timer.join()
    late[0].close()


def test_nobody_waits_for_ever():
    with pytest.raises(ConnectionRefusedError):
        meeting.connect("nobody:1", "node1", 0.2)


def test_two_do_not_wait_for_the_same_ranks():
    with meeting.listen("c:1", "node1"), pytest.raises(OSError):
        meeting.listen("c:1", "node1")
