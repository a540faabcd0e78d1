"""start_ranks.py: all processes on a node end together, and the failed one is named."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from live_processes import alive

SCRIPT = Path(__file__).resolve().parents[2] / "workloads/launch/start_ranks.py"
sys.path.insert(0, str(SCRIPT.parent))

import host_ranks
import start_ranks


class InTheKernel:
    """A process that SIGKILL does not end."""

    def poll(self):
        return None

    def send_signal(self, number=None):
        pass

    terminate = kill = send_signal

    def wait(self, seconds=None):
        assert seconds is not None, "this would wait for ever"
        time.sleep(seconds)
        raise subprocess.TimeoutExpired([], seconds)


def test_a_process_that_hangs_in_the_kernel_is_left(monkeypatch):
    monkeypatch.setattr(start_ranks, "GRACE", 0.1)
    monkeypatch.setattr(host_ranks, "GRACE", 0.1)
    began = time.monotonic()
    start_ranks.finish([InTheKernel() for _ in range(100)])
    # However many ranks hang.
    assert time.monotonic() - began < 10
    children = host_ranks.Children("")
    children.running["orted"] = InTheKernel()
    monkeypatch.setattr(children, "terminate", lambda name: None)
    children.end()


def test_servers_are_not_waited_for_and_ranks_are(monkeypatch):
    monkeypatch.setattr(start_ranks, "SERVER_GRACE", 0.1)
    server, rank = (subprocess.Popen(["sleep", seconds]) for seconds in ("60", "0.8"))
    try:
        assert start_ranks.wait({"server": (server, True), "rank": (rank, False)}, []) == 0
        assert (server.poll(), rank.poll()) == (None, 0)
    finally:
        server.kill()
        server.wait()
        rank.wait()


def test_a_launcher_may_end_its_ranks_before_it_is_killed(tmp_path):
    children = host_ranks.Children(str(tmp_path))
    children.start("mpirun", ["sh", "-c", f"""
        trap 'sleep 0.3; echo ended > {tmp_path}/ranks; exit 0' TERM
        touch {tmp_path}/ready; while :; do sleep 0.05; done
    """], {})  # fmt: skip
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    children.end()
    assert (tmp_path / "ranks").read_text() == "ended\n"
    assert children.ended() == {"mpirun": 0}


def test_the_ssh_of_the_launcher_is_there_while_it_runs(tmp_path):
    """It would be found by the next repeat's programs in their working folder."""
    done = subprocess.run(
        [sys.executable, SCRIPT.with_name("host_ranks.py"), "--job", f"{tmp_path}:1", "--node", "a",
         "--ssh-config", "x", "--peers", "{}", "--", "sh", "-c", "command -v ssh; exit 7"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, f"{tmp_path}/ssh\n"), done.stderr
    assert [*tmp_path.iterdir()] == []


def rank(name, code, **more):
    """Describe a process that runs ``code``."""
    return json.dumps(
        {"name": name, "argv": [sys.executable, "-c", code], "environment": {}, **more}
    )


def start(*ranks):
    return subprocess.Popen(
        [sys.executable, SCRIPT, *ranks],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_environment_and_arguments_are_passed_unchanged():
    described = {
        "name": "worker 0",
        "argv": [
            sys.executable,
            "-c",
            "import os, sys; print(os.environ['X'], sys.argv[1:])",
            "$HOME '",
        ],
        "environment": {"X": "a b"},
    }
    process = start(json.dumps(described))
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, 'a b ["$HOME \'"]\n')


def test_a_failed_process_is_named_and_ends_the_others(tmp_path):
    began, there = time.monotonic(), str(tmp_path / "there")
    sleeper = rank(
        "server",
        f"import os, time; print(os.getpid(), flush=True); open({there!r}, 'w'); time.sleep(60)",
    )
    failing = f"import os, time\nwhile not os.path.exists({there!r}): time.sleep(0.05)\nexit(3)"
    process = start(sleeper, rank("worker 0", failing))
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "launch error: worker 0 on this node failed: exit code 3" in out
    assert time.monotonic() - began < 20
    assert not alive(out.split()[0])


def test_a_process_ended_by_a_signal_is_reported():
    process = start(rank("worker 1", "import os; os.kill(os.getpid(), 9)"))
    out, _ = process.communicate(timeout=30)
    assert "worker 1 on this node failed: ended by signal 9" in out


def test_sigterm_ends_all_processes():
    process = start(
        rank("worker 0", "import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    )
    pid = process.stdout.readline().strip()
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 1
    assert not alive(pid)


SIGNALLED_WHILE_IT_STARTS = """
import os, runpy, signal, subprocess, sys

class Signalled(subprocess.Popen):
    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        print(self.pid, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

subprocess.Popen = Signalled
sys.path.insert(0, os.path.dirname(sys.argv[1]))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize(
    ("script", "status", "arguments"),
    [
        ("start_ranks.py", 1, [rank("worker 0", "import time; time.sleep(60)")]),
        ("host_ranks.py", 1, ["--job=here:1", "--node=a", "--peers={}", "--ssh-config=x",
                              "--", "sleep", "60"]),
        ("attended.py", 143, ["folder", "sleep", "60"]),
    ],
)  # fmt: skip
def test_a_signal_between_the_start_of_a_process_and_the_note_of_it_ends_it(
    script, status, arguments, tmp_path
):
    code = [sys.executable, "-c", SIGNALLED_WHILE_IT_STARTS, SCRIPT.with_name(script)]
    done = subprocess.run(
        [*code, *arguments],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (status, "")
    assert not alive(done.stdout.split()[0])


def test_servers_end_after_the_workers():
    server = rank("server", "import time; time.sleep(2); print('served')", serves=True)
    process = start(server, rank("worker 0", "print('worked')"))
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, sorted(out.split())) == (0, ["served", "worked"])
