"""Stand-in for a clock and a limit that Docker cannot give a node: every Python there loads it.

Clocks of containers are the machine's, and it may cap locked memory. /opt/stand_ins/machine.json
may have ``clock_ahead_s`` and ``memlock_kib``; without it the limit is none.
"""

import json
import resource
import time

try:
    with open("/opt/stand_ins/machine.json", encoding="ascii") as file:
        TOLD = json.load(file)
except FileNotFoundError:
    TOLD = {}

_time, _getrlimit = time.time, resource.getrlimit


def getrlimit(which):
    """Return the stand-in's limit for locked memory, and real ones."""
    if which != resource.RLIMIT_MEMLOCK:
        return _getrlimit(which)
    kib = TOLD.get("memlock_kib")
    return (resource.RLIM_INFINITY if kib is None else kib * 1024,) * 2


resource.getrlimit = getrlimit
if "clock_ahead_s" in TOLD:
    time.time = lambda: _time() + TOLD["clock_ahead_s"]
