"""What runs on a node: processes with a GPU open, containers, the keeper of the clock."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node import work


@pytest.fixture
def started():
    """Return a function that starts a program; it is ended afterwards."""
    running = []

    def start(*command, **options):
        running.append(subprocess.Popen(command, **options))
        # The kernel shows its own command, and not that of its parent, once it was executed.
        shown = Path(f"/proc/{running[-1].pid}/cmdline")
        while not shown.read_bytes().startswith(os.fsencode(command[0])):
            time.sleep(0.01)
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()


def stand_in(folder, name):
    """Return the path of a program of that name, which sleeps: a stand-in."""
    path = folder / name
    path.symlink_to("/bin/sleep")
    return str(path)


def test_a_process_with_a_gpu_open_is_named_and_one_without_is_not(tmp_path, started):
    gpu = tmp_path / "nvidia0"
    gpu.write_text("stand-in")
    started("/bin/sleep", "600")
    with gpu.open() as device:
        user = started("/bin/sleep", "601", stdin=device)
        found = work.gpu_users(str(tmp_path / "nvidia[0-9]*"))
    assert f"process {user.pid} (/bin/sleep 601) on a GPU" in found
    # This test had it open as well.
    assert len(found) == 2
    assert work.gpu_users(str(tmp_path / "nvidia[0-9]*")) == [
        f"process {user.pid} (/bin/sleep 601) on a GPU"
    ]


def test_daemons_of_the_driver_do_not_count_as_work(tmp_path, started):
    gpu = tmp_path / "nvidia0"
    gpu.write_text("stand-in")
    with gpu.open() as device:
        started(stand_in(tmp_path, "nvidia-persistenced"), "600", stdin=device)
    assert work.gpu_users(str(tmp_path / "nvidia[0-9]*")) == []


@pytest.fixture
def own(monkeypatch):
    """Have those of this test alone: tests of roles beside it start containers and daemons too."""
    every = work.processes
    monkeypatch.setattr(
        work, "processes", lambda: (one for one in every() if one.parent == os.getpid())
    )


def test_containers_of_every_engine_are_named(started, own):
    # Options as the engines give them, to a shell that waits for its input.
    shim = ["-namespace", "moby", "-id", "5b8e27a4c90f81b2c3", "-address", "/run/x.sock"]
    conmon = ["--api-version", "1", "-c", "77ab" * 16, "-u", "77ab" * 16, "-n", "training"]
    for path, words in (("/usr/bin/containerd-shim-runc-v2", shim), ("/usr/bin/conmon", conmon)):
        started(path, "-s", "--", *words, executable="/bin/sh", stdin=subprocess.PIPE)
    assert work.containers() == ["container 5b8e27a4c90f", "container training"]


def test_a_program_that_only_mentions_a_container_is_none(started, own):
    started("/bin/sh", "-s", "--", "containerd-shim", "-id", "3f2a", stdin=subprocess.PIPE)
    assert work.containers() == []


def test_the_daemon_that_keeps_the_clock_is_found_by_its_program(started, own):
    before = work.clock_state()
    assert set(before) == {"keeper", "synchronised"}
    assert before["keeper"] == ""
    started("/usr/sbin/chronyd", "600", executable="/bin/sleep")
    assert work.clock_state() == {**before, "keeper": "chronyd"}


@pytest.mark.skipif(not shutil.which("timedatectl"), reason="needs systemd")
def test_the_kernel_says_whether_the_clock_is_synchronised():
    """As systemd reads it: timedatectl works where systemd runs."""
    done = subprocess.run(
        ["timedatectl", "show", "--property=NTPSynchronized", "--value"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(done.stderr.strip())
    assert work.clock_state()["synchronised"] == (done.stdout.strip() == "yes")
