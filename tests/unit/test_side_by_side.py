"""Calls side by side: at the same time, each in a process that ends with its parent."""

import os
import signal
import subprocess
import sys
import time

import pytest
from ansible_collections.scalebench.core.plugins.plugin_utils.side_by_side import side_by_side


def test_each_result_is_under_its_name():
    found = side_by_side({"a": lambda: {"is": 1}, "b": lambda: {"is": 2}})
    assert found == {"a": {"is": 1}, "b": {"is": 2}}


def test_the_calls_run_at_the_same_time(tmp_path):
    def meet(mine, other):
        (tmp_path / mine).touch()
        end = time.monotonic() + 20
        while not (tmp_path / other).exists() and time.monotonic() < end:
            time.sleep(0.01)
        return {"met": (tmp_path / other).exists()}

    found = side_by_side({"a": lambda: meet("a", "b"), "b": lambda: meet("b", "a")})
    assert found == {"a": {"met": True}, "b": {"met": True}}


def test_a_single_call_needs_no_process():
    assert side_by_side({"a": lambda: {"pid": os.getpid()}}) == {"a": {"pid": os.getpid()}}


def test_a_process_that_dies_is_no_result():
    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(RuntimeError, match="b: the process that ran it died"):
        side_by_side({"a": dict, "b": die})


WITH_COLLECTIONS = {**os.environ, "PYTHONPATH": "collections"}
PLAYBOOK = """
import multiprocessing
from ansible_collections.scalebench.core.plugins.plugin_utils.side_by_side import (
    end_with_playbook, side_by_side
)

def call():
    end_with_playbook()
    return {"is": 1}

def worker():
    print(side_by_side({"a": call, "b": call}), flush=True)
    multiprocessing.parent_process = lambda: worker
    worker.pid = 1 << 22
    try:
        end_with_playbook()
    except ProcessLookupError as error:
        print(error)

started = multiprocessing.get_context("fork").Process(target=worker)
started.start()
started.join()
"""


def test_workers_and_their_processes_know_whether_ansible_playbook_is_there():
    done = subprocess.run(
        [sys.executable, "-c", PLAYBOOK],
        env=WITH_COLLECTIONS, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "{'a': {'is': 1}, 'b': {'is': 1}}",
        "ansible-playbook, process 4194304, has ended",
    ]


PARENT = """
import os, subprocess, sys, time
from ansible_collections.scalebench.core.plugins.plugin_utils.side_by_side import side_by_side

def call():
    with open(sys.argv[1], "a") as pids:
        print(os.getpid(), file=pids, flush=True)
    time.sleep(60)

def worker():
    with open(sys.argv[1], "a") as pids:
        print(os.getpid(), file=pids, flush=True)
    side_by_side({"a": call, "b": call})

if not os.fork():
    worker()
time.sleep(60)
"""


def test_the_calls_and_their_worker_end_when_the_workers_parent_is_killed(tmp_path):
    listed = tmp_path / "pids"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(listed)], env=WITH_COLLECTIONS)
    wait_for(lambda: listed.exists() and len(listed.read_text().split()) == 3)
    # The last of them has written before it was asked to end with its parent.
    time.sleep(0.3)
    parent.kill()
    parent.wait()
    wait_for(lambda: not [pid for pid in listed.read_text().split() if lives(pid)])


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
