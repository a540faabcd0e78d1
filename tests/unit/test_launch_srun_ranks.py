"""host_ranks.py and join_ranks.py where srun starts the ranks; a shell is a stand-in for srun."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from live_processes import alive

LAUNCH = Path(__file__).resolve().parents[2] / "workloads/launch"
sys.path.insert(0, str(LAUNCH))

import host_ranks

# Each task has the variables of a rank, and what PMI2 talks through.
TASKS = """\
for n in 0 1; do
    SLURM_PROCID=$n SLURM_LOCALID=$n SLURM_STEP_NUM_TASKS=2 SLURMD_NODENAME=n1 \\
        PMIX_RANK=$n PMI_FD=7 "$0" "$1" "$2" - 20 "$3" 7>>"$4" &
    eval p$n=$!
done
if [ -n "$CANCELS" ]; then
    until [ -s 0 ] && [ -s 1 ]; do sleep 0.1; done
    kill -9 $p0 $p1
fi
wait $p0; first=$?; wait $p1; echo "tasks ended $first $?"
[ $first = 0 ]
"""


@pytest.fixture
def ranks(tmp_path):
    """Return a function that runs two ranks of a shell command, and may cancel their tasks."""
    talk = tmp_path / "pmi2"

    def run(command, cancels=""):
        job = f"{tmp_path}:1"
        host = [sys.executable, LAUNCH / "host_ranks.py", f"--job={job}", "--node=n1", "--ranks=2"]
        join = [sys.executable, LAUNCH / "join_ranks.py", job, f"exec sh -c '{command}'", talk]
        done = subprocess.run(
            [*host, "--", "/bin/sh", "-c", TASKS, *join],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, cwd=tmp_path,
            env={**os.environ, "GIVEN": "here", "CANCELS": cancels}, check=False,
        )  # fmt: skip
        return done, talk.read_text() if talk.exists() else ""

    return run


def test_a_rank_has_its_place_its_output_and_the_environment_of_its_node(ranks):
    done, talked = ranks(
        "echo $GIVEN $PMIX_RANK $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE"
        " $OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE;"
        " echo rank $PMIX_RANK >&$PMI_FD"
    )
    assert done.returncode == 0, done.stdout
    assert sorted(done.stdout.splitlines()) == [
        *["here 0 0/2 0/2", "here 1 1/2 1/2", "tasks ended 0 0"]
    ]
    assert sorted(talked.splitlines()) == ["rank 0", "rank 1"]


def test_a_task_ends_as_its_rank_did(ranks):
    done, _ = ranks("[ $PMIX_RANK = 0 ] || kill -9 $$; exit 3")
    assert "tasks ended 3 137" in done.stdout
    assert done.returncode == 1


def test_a_rank_ends_with_its_task(ranks, tmp_path):
    done, _ = ranks("echo $$ >$PMIX_RANK; sleep 60", cancels="yes")
    assert "tasks ended 137 137" in done.stdout
    for rank in "01":
        assert not alive((tmp_path / rank).read_text())


def test_a_signal_while_the_ranks_are_ended_spares_none(tmp_path):
    job, pid = f"{tmp_path}:1", tmp_path / "pid"
    code = "import sys, host_ranks; host_ranks.GRACE = 0.5; sys.exit(host_ranks.main())"
    host = [sys.executable, "-c", code, f"--job={job}", "--node=n1", "--ranks=2"]

    def join(rank, command):
        place = {"SLURM_PROCID": rank, "SLURM_LOCALID": rank, "SLURM_STEP_NUM_TASKS": "2"}
        return subprocess.Popen(
            [sys.executable, LAUNCH / "join_ranks.py", job, "-", "20", command],
            env={**os.environ, **place, "SLURMD_NODENAME": "n1"},
        )

    signalling = f'trap "kill $PPID" TERM; echo $$ >{pid}; while :; do sleep 0.1; done'
    with (
        subprocess.Popen(host, cwd=LAUNCH, stderr=subprocess.PIPE) as hosting,
        join("0", signalling),
    ):
        while not (pid.exists() and pid.read_text()):
            time.sleep(0.05)
        with join("1", "exit 3"):
            errors = hosting.communicate(timeout=30)[1]
    assert (hosting.returncode, errors) == (3, b"")
    assert not alive(pid.read_text())


def test_a_task_that_has_not_read_how_its_rank_ended_has_gone_too():
    ours, theirs = socket.socketpair()
    with ours:
        ours.sendall(b"0\n")
        theirs.close()
        assert host_ranks.has_gone(ours)
