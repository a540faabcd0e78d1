#!/usr/bin/env python3
"""Pass what mpirun starts here by ssh, or srun as a rank, to ``host_ranks.py``, until it ends.

Called by ``reach_node.py`` as ``join_ranks.py JOB NODE PATIENCE COMMAND``, by srun with ``-`` for
the node, whose name Slurm knows. PATIENCE is in seconds: the nodes do not start at exactly the same
time. Standard library only; runs on Python 3.5.
"""

import contextlib
import json
import os
import resource
import select
import signal
import sys

import meeting

# How the process manager of a step tells a rank its place, and what it may be asked by.
OF_STEP = ("PMI", "SLURM")


def main():
    """Wait for the end of the command, or of ssh or srun; return the command's exit status."""
    job, node, patience, command = sys.argv[1:]
    by_srun = node == "-"
    node = os.environ["SLURMD_NODENAME"] if by_srun else node
    try:
        connection = meeting.connect(job, node, float(patience))
    except OSError as error:
        text = "launch error: {}: no host_ranks.py waits for the ranks of {}: {}"
        print(text.format(node, job, error))
        return 1
    with connection:
        environment = step_environment() if by_srun else ssh_environment()
        request = {"command": command, "environment": environment}
        meeting.send_line(connection, json.dumps(request).encode() + b"\n", files(by_srun))
        poller = select.poll()
        poller.register(connection, select.POLLIN)
        # No event is requested: that sshd or Slurm closed its end is always reported.
        poller.register(1, 0)
        while True:
            events = dict(poller.poll())
            if connection.fileno() in events:
                answer = meeting.read_line(connection).strip()
                return ended(int(answer), by_srun) if answer else 1
            if 1 in events:
                return 1


def ended(status, by_srun):
    """Return an exit status; end as the rank did where a signal ended it, so that srun says so."""
    if by_srun and status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # nothing can be set for SIGKILL
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return abs(status)


def files(by_srun):
    """Return the descriptors that a rank of a step has: its output, and what PMI2 talks through."""
    if not by_srun:
        return []
    return [1, 2, *[int(os.environ[name]) for name in ("PMI_FD",) if name in os.environ]]


def step_environment():
    """Return the variables of a rank of a step; those of mpirun too, which programs read."""
    environment = {name: text for name, text in os.environ.items() if name.startswith(OF_STEP)}
    environment["OMPI_COMM_WORLD_RANK"] = os.environ["SLURM_PROCID"]
    environment["OMPI_COMM_WORLD_SIZE"] = os.environ["SLURM_STEP_NUM_TASKS"]
    environment["OMPI_COMM_WORLD_LOCAL_RANK"] = os.environ["SLURM_LOCALID"]
    return environment


def ssh_environment():
    """Return the variables of ssh that Open MPI's daemon reads; all others are those of the job."""
    return {name: os.environ[name] for name in ("SSH_CONNECTION",) if name in os.environ}


if __name__ == "__main__":
    sys.exit(main())
