"""The controller's watch over one node of a repeat: time limit, failed peers, own parent."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from ansible.errors import AnsibleConnectionFailure
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import (
    Process,
    descendants,
    end_processes,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.carrier import STOPPED

__all__ = ["PEER_GRACE", "RunWatch"]

# Seconds in which a node may notice by itself that a peer failed, which gives a better message.
PEER_GRACE = 15.0


class RunWatch:
    """Ends the connection of this worker after a timeout or the failure of a peer.

    The node then ends its run. Each node of a repeat has a worker process; they learn of failures
    by a file. A connection that starts something again is ended too, until this is left.

    :param limit: seconds after which the connection is ended; 0 for no limit.
    :param failed: the file that the first failing node of the repeat creates; None without peers.
    """

    def __init__(self, limit: float, failed: Path | None) -> None:
        self.limit = limit
        self._failed = failed
        self._seen: float | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.ended = ""

    def __enter__(self) -> RunWatch:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._done.set()
        self._thread.join()
        STOPPED.clear()
        # As at a time limit of the task: the connection would outlive this worker, and with it the
        # run. A lost connection has ended, and how the run ends is asked.
        if kind and not issubclass(kind, AnsibleConnectionFailure):
            _end_below_this_worker()

    def fail(self, grace: float = PEER_GRACE) -> None:
        """Have the other nodes ended after ``grace`` seconds, because this one failed."""
        if self._failed is None:
            return
        # On a full disk the file is empty, and what this node answers counts all the same.
        with suppress(OSError):
            self._failed.parent.mkdir(parents=True, exist_ok=True)
            self._failed.write_text(f"{grace}\n", encoding="ascii")

    def _watch(self) -> None:
        start = time.monotonic()
        while not self._done.wait(0.5):
            now = time.monotonic()
            end = self._end_of_grace(now)
            if self.ended:
                self._end(self.ended)
            elif self.limit and now - start > self.limit:
                self._end("timeout")
            elif end is not None and now > end:
                self._end("cancelled")

    def _end_of_grace(self, now: float) -> float | None:
        """Return when this node is ended, on the monotonic clock; None while no peer has failed."""
        if self._failed is None:
            return None
        try:
            grace = float(self._failed.read_text(encoding="ascii"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            # Empty for a moment after its creation, or because the disk is full.
            grace = PEER_GRACE
        self._seen = now if self._seen is None else self._seen
        return self._seen + grace

    def _end(self, why: str) -> None:
        """End the ssh below this worker, or with connection local the run itself."""
        self.ended = why
        STOPPED.set()
        _end_below_this_worker()


def _end_below_this_worker() -> None:
    # What survives SIGKILL waits for its device, and is looked at again while the watch lasts.
    with suppress(ValueError):
        end_processes(_below_this_worker)


def _below_this_worker() -> list[Process]:
    return descendants(os.getpid())
