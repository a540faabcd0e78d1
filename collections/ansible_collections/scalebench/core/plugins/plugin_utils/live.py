"""Lines on standard output, with a live last line where that is a terminal."""

from __future__ import annotations

import atexit
import sys
import threading
import time
from typing import Callable

from rich.console import Console
from rich.live import Live
from rich.text import Text

__all__ = ["LivePrinter"]

REFRESH = 0.5
REMINDER = 20.0


class LivePrinter:
    """Prints lines, and keeps ``status()`` up to date below them.

    On a terminal the status is redrawn in place twice a second; elsewhere it is printed as a line
    of its own every 20 s in which nothing else was printed.

    Ansible forks its workers from this process. The thread that draws holds ``lock`` while it does,
    and a fork waits for it, so that no worker is born with a console in mid-sentence. It has to be
    Ansible's own, which writing to standard output takes too: of two locks, each thread would hold
    one and wait for the other.

    :param lock: held by Ansible while it forks and while it writes, reentrant.
    """

    def __init__(self, status: Callable[[], str], lock: threading.RLock) -> None:
        self._status = status
        self._console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
        self._lock = lock
        self._printed = time.monotonic()
        self._live: Live | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to show the status."""
        atexit.register(self.stop)
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
            # A killed process could not show it again.
            self._console.show_cursor(True)
        self._thread = threading.Thread(target=self._draw, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take the status away and draw no more."""
        self._stop.set()
        with self._lock:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def print(self, line: str, style: str = "") -> None:
        """Print a line above the status; it may hold line breaks."""
        with self._lock:
            self._printed = time.monotonic()
            self._console.print(Text(line, style=style), soft_wrap=True)

    def _draw(self) -> None:
        while not self._stop.wait(REFRESH):
            with self._lock:
                if self._live is not None:
                    line = Text(self._status(), no_wrap=True, overflow="ellipsis", style="cyan")
                    self._live.update(line, refresh=True)
                elif time.monotonic() - self._printed > REMINDER and self._status():
                    self.print(self._status())
