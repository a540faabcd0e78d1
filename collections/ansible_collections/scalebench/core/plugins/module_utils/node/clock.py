"""Who keeps the clock of this node, and whether the kernel takes it for synchronised."""

from __future__ import annotations

import ctypes
import os
from typing import Dict, Union

from .processes import processes

__all__ = ["clock_state"]

# Daemons that set the clock, by their programs: chrony, systemd, ntp and ntpsec and OpenNTPD, PTP.
_KEEPERS = ("chronyd", "systemd-timesyncd", "ntpd", "phc2sys")
# adjtimex(2): what it returns for a clock that is not synchronised.
_TIME_ERROR = 5
# Larger than struct timex on any machine; with modes 0, its first member, it is only filled.
_TIMEX_BYTES = 512


def clock_state() -> Dict[str, Union[str, bool]]:
    """Return ``keeper``, the daemon that sets the clock (empty without one), and ``synchronised``.

    The kernel tells the latter whichever daemon sets it; in a container it is that of the host.
    """
    commands = [process.command for process in processes() if process.alive]
    running = {os.path.basename(command.split(" ")[0].rstrip(":")) for command in commands}
    keepers = [name for name in _KEEPERS if name in running]
    asked = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    return {"keeper": keepers[0] if keepers else "", "synchronised": 0 <= asked < _TIME_ERROR}
