#!/usr/bin/env python3
"""Pass what mpirun starts on this node by ssh to ``host_ranks.py``, and wait until it ends.

Called by ``reach_node.py`` as ``join_ranks.py JOB NODE PATIENCE COMMAND``. PATIENCE is in seconds:
the nodes do not start at exactly the same time. Standard library only; runs on Python 3.5.
"""

import json
import os
import select
import sys

import meeting


def main():
    """Wait for the end of the command or of ssh; return the command's exit status."""
    job, node, patience, command = sys.argv[1:]
    try:
        connection = meeting.connect(job, node, float(patience))
    except OSError as error:
        text = "launch error: {}: no host_ranks.py waits for the ranks of {}: {}"
        print(text.format(node, job, error))
        return 1
    with connection:
        request = {"command": command, "environment": ssh_environment()}
        connection.sendall(json.dumps(request).encode() + b"\n")
        poller = select.poll()
        poller.register(connection, select.POLLIN)
        # No event is requested: that sshd closed its end is always reported.
        poller.register(1, 0)
        while True:
            events = dict(poller.poll())
            if connection.fileno() in events:
                answer = meeting.read_line(connection).strip()
                return int(answer) if answer else 1
            if 1 in events:
                return 1


def ssh_environment():
    """Return the variables of ssh that Open MPI's daemon reads; all others are those of the job."""
    return {name: os.environ[name] for name in ("SSH_CONNECTION",) if name in os.environ}


if __name__ == "__main__":
    sys.exit(main())
