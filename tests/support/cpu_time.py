"""How long something computes, for tests that compare two sizes in one run."""

import time


def seconds(work, *arguments):
    """Return the CPU time of a call."""
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


def check_proportion(work, short, long, times=9):
    """Check that the long one takes less than so many times as long as the short one.

    The fastest of some calls counts, of each: others on the machine only add to it. What is decided
    by fewer calls of the long one has no more.

    :param short: the arguments, as is ``long``.
    """
    beside = 0.02  # seconds that the long one may take longer
    took = seconds(work, *long)
    if took < beside:
        return
    limit = times * min(seconds(work, *short) for _ in range(3)) + beside
    for _ in range(9):
        if took >= limit:
            took = min(took, seconds(work, *long))
    assert took < limit, f"{took:.3f} s, and {limit:.3f} s would be in proportion"
