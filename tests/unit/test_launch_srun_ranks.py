"""host_ranks.py and join_ranks.py where srun starts the ranks; a shell is a stand-in for srun."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from live_processes import alive

LAUNCH = Path(__file__).resolve().parents[2] / "workloads/launch"
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
