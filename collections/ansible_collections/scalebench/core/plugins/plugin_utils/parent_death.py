"""End with the parent process, whatever ends it."""

from __future__ import annotations

import ctypes
import signal

__all__ = ["end_with_parent"]

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Have the kernel send SIGTERM to this process when its parent dies: prctl(2).

    An Ansible worker outlives a killed ansible-playbook, and with it the connection by which a node
    knows that somebody waits. The worker's handler of SIGTERM ends its group, ssh among it.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
