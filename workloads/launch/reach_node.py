#!/usr/bin/env python3
"""Replace ssh below ``host_ranks.py``: log in to a node and run ``join_ranks.py`` there.

Called like ssh: ``reach_node.py [OPTIONS] ADDRESS [OPTIONS] COMMAND...``. Standard library only;
runs on Python 3.5, which the oldest images need.
"""

import json
import os
import shlex
import subprocess
import sys

import meeting

WITH_VALUE = set("BbcDEeFIiJLlmOopQRSWw")  # ssh(1): options with a value
SSH_ERROR = 255  # ssh(1): an error of ssh itself, not of the command


def main():
    """Log in; return ssh's exit status.

    ssh joins the words of a command with blanks, for a shell to split. Joined the same way, the
    command of Open MPI's daemon is one argument of ``join_ranks.py``; any other runs as it is.
    """
    words = without_options(sys.argv[1:])
    peers = json.loads(os.environ["SCALEBENCH_PEERS"])
    group = next(one for one in peers if words[0] in one["nodes"])
    node = group["nodes"][words[0]]
    remote = " ".join(without_options(words[1:]))
    if meeting.DAEMON.search(remote):
        job, patience = os.environ["SCALEBENCH_JOB"], os.environ["SCALEBENCH_PATIENCE"]
        joining = [*group["join"], job, node, patience, remote]
        remote = " ".join(shlex.quote(word) for word in joining)
    ssh = [os.environ["SCALEBENCH_SSH"], "-F", os.environ["SCALEBENCH_SSH_CONFIG"]]
    # The job's log should have the reason of a failed login, but no banner.
    status = subprocess.call([*ssh, "-o", "LogLevel=ERROR", node, remote])
    if status == SSH_ERROR:
        print("launch error: cannot connect to", node, "by", *ssh, node)
    return status


def without_options(words):
    """Return the words after leading options of ssh.

    The options state how to reach the node, for example without checking host keys; the ssh
    configuration decides that here.
    """
    words = list(words)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if len(option) == len("-p") and option[1] in WITH_VALUE:
            words.pop(0)
    return words


if __name__ == "__main__":
    sys.exit(main())
