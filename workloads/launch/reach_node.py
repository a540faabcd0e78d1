#!/usr/bin/env python3
"""Stand in for ssh below ``host_ranks.py``: log in to a node, and join the ranks there.

Called as ssh is: ``reach_node.py [OPTIONS] ADDRESS [OPTIONS] COMMAND...``. Standard library only
and runs on Python 3.5, as the oldest images need.
"""

import json
import os
import shlex
import subprocess
import sys

WITH_VALUE = set("BbcDEeFIiJLlmOopQRSWw")  # ssh(1): options that are followed by a word
DAEMON = "orted"
OF_SSH = 255  # ssh(1): an error of its own, not of the command


def main():
    """Log in; return ssh's exit status.

    ssh would join the words of the command for a shell to take apart. Joined so, that of Open MPI's
    daemon is one word among those of ``join_ranks.py``; any other is run as it is.
    """
    words = without_options(sys.argv[1:])
    peer = json.loads(os.environ["SCALEBENCH_PEERS"])[words[0]]
    remote = " ".join(without_options(words[1:]))
    if DAEMON in remote:
        job, patience = os.environ["SCALEBENCH_JOB"], os.environ["SCALEBENCH_PATIENCE"]
        joining = [*peer["join"], job, peer["node"], patience, remote]
        remote = " ".join(shlex.quote(word) for word in joining)
    ssh = [os.environ["SCALEBENCH_SSH"], "-F", os.environ["SCALEBENCH_SSH_CONFIG"]]
    # Why it cannot log in belongs into the job's log, a banner does not.
    status = subprocess.call([*ssh, "-o", "LogLevel=ERROR", peer["node"], remote])
    if status == OF_SSH:
        print("launch error: no connection to", peer["node"], "by", *ssh, peer["node"])
    return status


def without_options(words):
    """Return the words from the first on that is no option of ssh's.

    The options say how to reach the node, as to check no host key; the configuration says better.
    """
    words = list(words)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if len(option) == len("-p") and option[1] in WITH_VALUE:
            words.pop(0)
    return words


if __name__ == "__main__":
    sys.exit(main())
