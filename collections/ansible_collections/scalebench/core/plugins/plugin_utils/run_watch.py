"""doc-run_watch"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.node.processes import (
    Process,
    descendants,
    end_processes,
)

__all__ = ["PEER_GRACE", "RunWatch", "end_with_parent"]

# Seconds that a node has to notice by itself that a peer failed: then it tells more than we could.
PEER_GRACE = 15.0


class RunWatch:
    """Ends this worker's connection when there is nothing left to wait for; the node ends the run.

    The nodes of a repeat run in worker processes of their own and know of each other by a file.

    :param limit: seconds after which a node that does not answer is given up; 0 for never.
    :param failed: the file that the first node of the repeat to fail makes.
    """

    def __init__(self, limit: float, failed: Path | None) -> None:
        self.limit = limit
        self._failed = failed
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.ended = ""

    def __enter__(self) -> RunWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def fail(self, grace: float = PEER_GRACE) -> None:
        """Tell the other nodes that this one failed, and that they are ended ``grace`` s later."""
        if self._failed is not None:
            self._failed.parent.mkdir(parents=True, exist_ok=True)
            self._failed.write_text(f"{grace}\n", encoding="ascii")

    def _watch(self) -> None:
        start = time.monotonic()
        end: float | None = None
        while not self._done.wait(0.5):
            now = time.monotonic()
            if end is None:
                end = self._end_of_grace(now)
            if self.limit and now - start > self.limit:
                self._end("timeout")
            elif end is not None and now > end:
                self._end("cancelled")

    def _end_of_grace(self, now: float) -> float | None:
        """Return when this node is ended because a peer failed; None while none has."""
        if self._failed is None:
            return None
        try:
            grace = self._failed.read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        # A moment after it was made the file may be empty.
        return now + float(grace) if grace else None

    def _end(self, why: str) -> None:
        """End the ssh below this worker, once."""
        self.ended = why
        self._done.set()
        end_processes(_below_this_worker)


def _below_this_worker() -> list[Process]:
    return descendants(os.getpid())


_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Have the kernel send SIGTERM to this process when its parent dies: prctl(2).

    An Ansible worker outlives a killed ansible-playbook, and with it the connection by which a node
    knows that somebody waits. The worker's handler of SIGTERM ends its group, ssh among it.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
