#!/usr/bin/env python3
"""Stand in for ssh where mpirun starts its daemon on a node: log in there and join the ranks.

Called by mpirun as ``reach_node.py ADDRESS COMMAND...``, below ``host_ranks.py``, which tells it in
the environment how each node is reached. Standard library only and runs on Python 3.7.
"""

from __future__ import annotations

import json
import os
import shlex
import sys


def main():
    """Become ssh.

    ssh would join the words of the daemon's command for a shell to take apart. Joined so, they are
    one word among those of ``join_ranks.py``.
    """
    address, command = sys.argv[1], " ".join(sys.argv[2:])
    peer = json.loads(os.environ["SCALEBENCH_PEERS"])[address]
    job, patience = os.environ["SCALEBENCH_JOB"], os.environ["SCALEBENCH_PATIENCE"]
    words = [*peer["join"], job, peer["node"], patience, command]
    remote = " ".join(shlex.quote(word) for word in words)
    ssh = ["ssh", "-q", "-F", os.environ["SCALEBENCH_SSH_CONFIG"], peer["node"], remote]
    os.execvp(ssh[0], ssh)


if __name__ == "__main__":
    main()
