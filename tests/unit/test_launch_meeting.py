"""The socket between host_ranks.py and join_ranks.py."""

import os
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workloads/launch"))

import meeting


def test_both_ends_connect_and_know_the_other_user():
    with meeting.listen("a:1", "node1") as listener, meeting.connect("a:1", "node1", 5) as joining:
        waiting, _ = listener.accept()
        assert meeting.other_user(waiting) == os.getuid()
        joining.sendall(b"one line\n")
        assert meeting.read_line(waiting) == "one line\n"
        waiting.close()


@pytest.mark.parametrize("count", [0, 2])
def test_files_come_with_a_line(tmp_path, count):
    files = [(tmp_path / str(number)).open("w+") for number in range(count)]
    with meeting.listen("f:1", "node1") as listener, meeting.connect("f:1", "node1", 5) as joining:
        waiting, _ = listener.accept()
        # More than one reading takes.
        meeting.send_line(joining, b"x" * 70000 + b"\n", [file.fileno() for file in files])
        line, received = meeting.read_line_and_files(waiting)
        waiting.close()
    assert (len(line), len(received)) == (70001, count)
    for descriptor, file in zip(received, files, strict=True):
        assert os.path.samestat(os.fstat(descriptor), os.fstat(file.fileno()))
        os.close(descriptor)
        file.close()


def test_jobs_and_nodes_on_one_machine_have_different_names():
    names = {meeting.name_of(job, node) for job in ("a:1", "a:2") for node in ("node1", "node2")}
    assert len(names) == 4
    assert all(name.startswith("\0") and len(name) < 108 for name in names)


def test_connect_waits_for_the_listener():
    late = []
    timer = threading.Timer(0.5, lambda: late.append(meeting.listen("b:1", "node1")))
    timer.start()
    meeting.connect("b:1", "node1", 10).close()
    timer.join()
    late[0].close()


def test_connect_gives_up():
    with pytest.raises(ConnectionRefusedError):
        meeting.connect("nobody:1", "node1", 0.2)


def test_a_job_has_one_listener_per_node():
    with meeting.listen("c:1", "node1"), pytest.raises(OSError):
        meeting.listen("c:1", "node1")
