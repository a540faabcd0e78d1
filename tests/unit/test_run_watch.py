"""When the watch of a run ends it, by a clock that the test sets."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.plugin_utils import carrier, run_watch

COLLECTIONS = Path(__file__).resolve().parents[2] / "collections"


class Done:
    """Stands in for the event: lets the watch look until time is over."""

    def __init__(self, looks):
        self.looks, self.is_set = looks, False

    def wait(self, _seconds):
        self.looks -= 1
        return self.is_set or self.looks < 0

    def set(self):
        self.is_set = True


@pytest.fixture
def watched(monkeypatch):
    """Return a function that lets a watch look once a second; it gives why and since when it ends.

    From then on it ends what there is at each look.
    """

    def watch(limit, failed=None, at=None, grace="", looks=100):
        now = [1000.0]
        ended = []

        def clock():
            now[0] += 1
            if failed is not None and at is not None and now[0] - 1001 >= at:
                failed.write_text(grace)
            return now[0]

        monkeypatch.setattr(run_watch.time, "monotonic", clock)
        monkeypatch.setattr(run_watch, "end_processes", lambda of: ended.append(now[0] - 1001))
        one = run_watch.RunWatch(limit, failed)
        one._done = Done(looks)
        one._watch()
        assert ended[1:] == [at + 1 for at in ended[:-1]]
        return one.ended, ended[:1]

    yield watch
    carrier.STOPPED.clear()


def test_a_run_is_ended_after_its_limit_and_without_one_never(watched):
    assert watched(10) == ("timeout", [11])
    assert watched(0) == ("", [])
    assert watched(100) == ("", [])


def test_a_run_is_ended_after_the_grace_of_the_peer_that_failed(watched, tmp_path):
    failed = tmp_path / "failed"
    assert watched(0, failed) == ("", [])
    assert watched(0, failed, at=5, grace="3.0\n") == ("cancelled", [9])
    failed.unlink()
    assert watched(0, failed, at=5, grace="0\n") == ("cancelled", [6])
    failed.unlink()
    assert watched(7, failed, at=5, grace="30\n") == ("timeout", [8])
    # What a full disk left of it.
    for grace in ("", "\0\0\0"):
        failed.unlink()
        assert watched(0, failed, at=5, grace=grace) == ("cancelled", [6 + run_watch.PEER_GRACE])


def test_a_file_that_is_empty_for_a_moment_after_its_creation_is_read_again(tmp_path):
    failed = tmp_path / "failed"
    failed.touch()
    watch = run_watch.RunWatch(0, failed)
    assert watch._end_of_grace(100.0) == 100 + run_watch.PEER_GRACE
    failed.write_text("3.0\n")
    assert watch._end_of_grace(101.0) == 103


def test_a_disk_that_is_full_costs_no_answer(tmp_path, monkeypatch):
    def write_text(path, *_, **__):
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", write_text)
    run_watch.RunWatch(0, tmp_path / "failed").fail()
    assert (tmp_path / "failed").exists()


def test_the_first_that_fails_tells_its_peers_how_long_they_have(tmp_path):
    failed = tmp_path / "runs" / "failed"
    watch = run_watch.RunWatch(0, failed)
    watch.fail()
    assert float(failed.read_text()) == run_watch.PEER_GRACE
    watch.fail(0)
    assert float(failed.read_text()) == 0
    run_watch.RunWatch(0, None).fail()


# The first process starts a connection, which starts another one when its own is ended.
AGAIN = """
import subprocess, sys, time
from ansible_collections.scalebench.core.plugins.plugin_utils import carrier
from ansible_collections.scalebench.core.plugins.plugin_utils.run_watch import RunWatch
with RunWatch(0.5, None) as watch:
    first = subprocess.run(["sleep", "60"])
    print(first.returncode, carrier.STOPPED.is_set(), flush=True)
    time.sleep(1.5)
    second = subprocess.run(["sleep", "60"])
    print(second.returncode, watch.ended, flush=True)
print(carrier.STOPPED.is_set(), subprocess.run(["sleep", "1"]).returncode)
"""


def lines_of(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": str(COLLECTIONS)},
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    return done.stdout.splitlines()


def test_what_is_started_after_the_end_is_ended_too():
    began = time.monotonic()
    assert lines_of(AGAIN) == ["-15 True", "-15 timeout", "False 0"]
    assert time.monotonic() - began < 30


INTERRUPTED = """
import subprocess, sys
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.scalebench.core.plugins.plugin_utils.run_watch import RunWatch
connection = None
try:
    with RunWatch(0, None):
        connection = subprocess.Popen(["sleep", sys.argv[2]])
        raise TimeoutError if sys.argv[1] == "timeout" else AnsibleConnectionFailure("")
except (AnsibleConnectionFailure, TimeoutError):
    print(connection.wait())
"""


@pytest.mark.parametrize(
    ("error", "seconds", "status"), [("timeout", "60", "-15"), ("lost", "2", "0")]
)
def test_a_time_limit_of_the_task_ends_the_connection_and_with_it_the_run(error, seconds, status):
    assert lines_of(INTERRUPTED, error, seconds) == [status]
