"""Lines on standard output, with a live status line below them on a terminal."""

from __future__ import annotations

import atexit
import sys
import threading
import time
from typing import Callable

from ansible import constants
from rich.console import Console
from rich.live import Live
from rich.text import Text

__all__ = ["LivePrinter"]

REFRESH = 0.5
REMINDER = 20.0


class LivePrinter:
    """Prints lines, with the current ``status()`` below them.

    On a terminal the status is redrawn in place twice a second; elsewhere it is printed as a line
    whenever nothing was printed for 20 s.

    Ansible forks its workers from this process. The drawing thread holds ``lock`` while it draws,
    and a fork waits for it, so that no worker inherits a console in the middle of a line. It must
    be the lock that Ansible also takes to write to standard output: with two locks, each thread
    could hold one and wait for the other.

    :param lock: reentrant; held by Ansible while it forks and while it writes.
    """

    def __init__(self, status: Callable[[], str], lock: threading.RLock) -> None:
        self._status = status
        self._console = Console(
            file=sys.stdout,
            no_color=constants.ANSIBLE_NOCOLOR or None,
            highlight=False,
            markup=False,
            emoji=False,
        )
        # With COLUMNS=0 rich has no room for a character and prints nothing.
        if not self._console.width:
            self._console.width = 80
        self._lock = lock
        self._printed = time.monotonic()
        self._live: Live | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start to show the status."""
        atexit.register(self.stop)
        # rich takes a file for a terminal where FORCE_COLOR is set.
        if self._console.is_terminal and not self._console.is_dumb_terminal and sys.stdout.isatty():
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
            # Live hides the cursor, and a killed process could not restore it.
            self._console.show_cursor(True)
        self._thread = threading.Thread(target=self._draw, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Remove the status; nothing is drawn once this has returned."""
        with self._lock:
            self._stop.set()
            if self._live is not None:
                self._live.stop()
                self._live = None

    def print(self, line: str, style: str = "") -> None:
        """Print a line, which may contain line breaks, above the status."""
        with self._lock:
            self._printed = time.monotonic()
            self._console.print(Text(line, style=style), soft_wrap=True)

    def _draw(self) -> None:
        while not self._stop.wait(REFRESH):
            with self._lock:
                # stop() may have been called while this thread waited for the lock.
                if self._stop.is_set():
                    return
                if self._live is not None:
                    line = Text(self._status(), no_wrap=True, overflow="ellipsis", style="cyan")
                    self._live.update(line, refresh=True)
                elif time.monotonic() - self._printed > REMINDER and self._status():
                    self.print(self._status())
