#!/usr/bin/env python3
"""Hand what mpirun started on this node by ssh to ``host_ranks.py``, and stay as long as it runs.

Called by ``reach_node.py`` as ``join_ranks.py JOB NODE PATIENCE COMMAND``; the seconds are there
because the nodes start at about the same time only. Standard library only and runs on Python 3.5.
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
        print("launch error: {}: nobody here took in the ranks of {}: {}".format(node, job, error))
        return 1
    with connection:
        request = {"command": command, "environment": passed_on()}
        connection.sendall(json.dumps(request).encode() + b"\n")
        poller = select.poll()
        poller.register(connection, select.POLLIN)
        # No event is asked for: that sshd closed its end is reported all the same.
        poller.register(1, 0)
        while True:
            events = dict(poller.poll())
            if connection.fileno() in events:
                answer = meeting.read_line(connection).strip()
                return int(answer) if answer else 1
            if 1 in events:
                return 1


def passed_on():
    """Return what of ssh's environment Open MPI's daemon looks at; all else is the job's own."""
    return {name: os.environ[name] for name in ("SSH_CONNECTION",) if name in os.environ}


if __name__ == "__main__":
    sys.exit(main())
