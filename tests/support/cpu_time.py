"""How long something computes, for tests that compare two sizes in one run."""

import time


def least_seconds(work, *arguments):
    """Return the CPU time of the fastest of three calls: others on the machine only add to it."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        work(*arguments)
        taken.append(time.process_time() - start)
    return min(taken)
