"""A command in a container ends with its client: real processes, without a container."""

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from live_processes import alive, all_ended

LAUNCH = Path(__file__).resolve().parents[2] / "workloads/launch"
ATTENDED = [sys.executable, str(LAUNCH / "attended.py")]
IN_CONTAINER = [sys.executable, str(LAUNCH / "in_container.py")]
# A command whose descendant leads a session of its own and ignores SIGTERM.
STUBBORN = (
    "import os, signal, subprocess, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import signal, time;"
    " signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)'], start_new_session=True)\n"
    "print(os.getpid(), child.pid, flush=True)\n"
    "time.sleep(60)\n"
)


def test_a_command_runs_in_an_empty_folder_and_its_exit_code_is_returned(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "left").touch()
    run = subprocess.run(
        [*ATTENDED, str(folder), "sh", "-c", "pwd; ls -A; exit 3"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (3, f"{folder}\n")
    assert not folder.exists()


# A stand-in for the container engine: exec runs here, cp copies FOLDER/. as docker and podman do.
ENGINE = """#!/bin/sh
case $1 in
exec) shift; exec "$@" ;;
cp) [ "${2%%:*}" = mine ] && cp -r "${2#*:}" "$3" ;;
esac
"""


def test_what_nccl_tells_in_a_container_is_copied_out_of_it(tmp_path):
    engine, traces, work = tmp_path / "engine", tmp_path / "traces", tmp_path / "work"
    engine.write_text(ENGINE)
    engine.chmod(0o755)
    for folder in (traces, work):
        folder.mkdir()
    (traces / "nccl.v1.1.log").write_text("of an earlier command")
    telling = 'echo told > "$(dirname "$NCCL_DEBUG_FILE")/nccl.v1.2.log"; exit 3'
    copying = [*IN_CONTAINER, "--copy", f"mine:{traces}", str(engine), "exec"]
    run = subprocess.run(
        [*copying, *ATTENDED, str(tmp_path / "x"), "sh", "-c", telling],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "NCCL_DEBUG_FILE": f"{traces}/nccl.%h.%p.log"},
        cwd=work,
        check=False,
    )
    assert run.returncode == 3
    assert [path.name for path in work.iterdir()] == ["nccl.v1.2.log"]


def test_a_signal_is_returned_as_a_shell_does(tmp_path):
    run = subprocess.run([*ATTENDED, str(tmp_path / "x"), "sh", "-c", "kill -9 $$"], check=False)
    assert run.returncode == 128 + signal.SIGKILL


def test_a_signal_after_the_end_of_the_command_does_not_change_its_exit_code(tmp_path):
    left = "(trap 'kill $PPID; exit' TERM; touch ../ready; while :; do sleep 0.1; done) &"
    command = ["sh", "-c", f"{left} until [ -e ../ready ]; do sleep 0.1; done; exit 3"]
    run = subprocess.run([*ATTENDED, str(tmp_path / "x"), *command], check=False)
    assert run.returncode == 3


@pytest.mark.parametrize("program", [ATTENDED, IN_CONTAINER])
def test_a_missing_command_is_named(program, tmp_path):
    words = (
        [*program, str(tmp_path / "x"), "/nowhere"]
        if program == ATTENDED
        else [*program, "/nowhere"]
    )
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert run.returncode == 127
    assert "/nowhere: No such file or directory" in run.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_all_descendants_end_when_the_process_outside_does(number, tmp_path):
    outside = subprocess.Popen(
        [*IN_CONTAINER, *ATTENDED, str(tmp_path / "x"), sys.executable, "-c", STUBBORN],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert outside.stdout is not None
    pids = [int(word) for word in outside.stdout.readline().split()]
    assert len(pids) == 2
    assert all(map(alive, pids))
    os.kill(outside.pid, number)
    assert all_ended(pids)
    outside.wait(12)
    outside.stdout.close()


SIGNALLED_AGAIN = """
import os, signal, subprocess, sys, time
import in_container

def copy(*given, **options):
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
    os.kill(os.getpid(), signal.SIGTERM)
    for file in files:
        os.close(file)

# The signal comes before the start of the command has returned.
class Signalled(subprocess.Popen):
    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        time.sleep(0.5)

subprocess.call = copy
subprocess.Popen = Signalled
sys.exit(in_container.main(["--copy", "mine:/x", "sh", "-c", "kill $PPID; cat; exit 3"]))
"""


def test_a_second_signal_closes_no_file_of_another():
    run = subprocess.run([sys.executable, "-c", SIGNALLED_AGAIN], cwd=LAUNCH, check=False)
    assert run.returncode == 3


# Before it is killed, a process that ignores SIGTERM starts another one that does.
STARTS_MORE = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while not os.path.exists("../go"):
    time.sleep(0.01)
print(subprocess.Popen(["sleep", "60"]).pid, file=open("../pid", "w"), flush=True)
time.sleep(60)
"""
KILLS_LATE = """
import os, signal, sys, time
import attended

def kill(pid, number, kill=os.kill):
    if number == signal.SIGKILL and not os.path.exists("pid"):
        open("go", "w").close()
        while not (os.path.exists("pid") and open("pid").read()):
            time.sleep(0.01)
    kill(pid, number)

os.kill, attended.GRACE = kill, 0.5
sys.exit(attended.main(sys.argv[1:]))
"""


def test_what_was_started_before_the_end_of_its_parent_is_ended_too(tmp_path):
    command = ["sh", "-c", 'trap "" TERM; "$0" -c "$1" & exit 0', sys.executable, STARTS_MORE]
    subprocess.run(
        [sys.executable, "-c", KILLS_LATE, str(tmp_path / "x"), *command],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(LAUNCH)}, stdin=subprocess.DEVNULL,
        timeout=30, check=False,
    )  # fmt: skip
    assert not alive((tmp_path / "pid").read_text())


def test_a_command_waits_for_the_previous_one(tmp_path):
    folder = str(tmp_path / "x")
    first = subprocess.Popen(
        [*ATTENDED, folder, "sh", "-c", "echo begun; sleep 1; date +%s%N"], stdout=-1, text=True
    )
    assert first.stdout is not None
    assert first.stdout.readline() == "begun\n"
    second = subprocess.run([*ATTENDED, folder, "date", "+%s%N"], stdout=-1, text=True, check=True)
    assert int(first.communicate()[0]) < int(second.stdout)


PROGRAMS = ["attended", "in_container", "host_ranks", "join_ranks", "meeting", "reach_node"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_valid_python_3_5(name):
    """Later syntax would fail only in images of 2019."""
    tree = ast.parse((LAUNCH / f"{name}.py").read_text(), feature_version=(3, 5))
    later = [node for node in ast.walk(tree) if isinstance(node, (ast.JoinedStr, ast.AnnAssign))]
    assert later == []
    imports = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert "__future__" not in imports
