"""Whether processes that a test knows by pid have ended; process 1 takes its time over zombies."""

import time

from ansible_collections.scalebench.core.plugins.module_utils.node.processes import read_process


def alive(pid):
    """Return whether a process still runs."""
    process = read_process(int(pid))
    return process is not None and process.alive


def all_ended(pids, seconds=12):
    """Return whether all have ended within some seconds."""
    limit = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < limit:
        time.sleep(0.05)
    return not any(map(alive, pids))
