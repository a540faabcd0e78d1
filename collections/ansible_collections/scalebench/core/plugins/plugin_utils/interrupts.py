"""Have signals end an ansible-playbook, with all that it does at its end, wherever they arrive."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
from _thread import interrupt_main
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from ansible.errors import ExitCode

__all__ = ["before_signal", "keep_interrupts", "run_to_end"]

# Until Python has left what it calls around a fork.
AGAIN_SECONDS = 0.1
# Ansible itself ends within a second.
PATIENCE_SECONDS = 10


def keep_interrupts() -> None:
    """End this process after Ctrl-C also where Ansible would wait forever; call it once.

    Python ignores exceptions of the functions that it calls around a fork, and Ansible forks for
    each host and task: its workers would end, and the playbook would wait for them. A worker that
    is ended while it sends a result keeps the lock of the queue, on which the playbook then waits
    when it ends. SIGTERM and SIGHUP, of a closed terminal, do what Ctrl-C does: by default they end
    Python at once. One that is ignored stays so, such as SIGHUP below nohup.
    """
    process, dropped = os.getpid(), sys.unraisablehook
    # That of Ansible's TaskQueueManager, which ends the workers and raises KeyboardInterrupt.
    interrupt = signal.getsignal(signal.SIGINT)
    leaving = threading.Event()
    # Before what was registered earlier, which takes its time.
    atexit.register(leaving.set)

    def raise_again(unraisable):
        if unraisable.exc_type is not KeyboardInterrupt:
            dropped(unraisable)
        # A worker is ended by its parent.
        elif os.getpid() == process:
            signal.signal(signal.SIGINT, interrupted_again)
            threading.Timer(AGAIN_SECONDS, interrupt_main).start()

    def interrupted_again(number, frame):
        signal.signal(number, signal.SIG_IGN)
        # It ended meanwhile: the worker that was being forked is in this process's group until it
        # leaves it, died of the same Ctrl-C, and Ansible found it dead.
        if not leaving.is_set():
            raise KeyboardInterrupt

    def interrupted(number, frame):
        if os.getpid() == process:
            # A closed session sends both: what the first one began would be cut off.
            for other in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(other, signal.SIG_IGN)
            timer = threading.Timer(PATIENCE_SECONDS, _end, [leaving])
            timer.daemon = True
            timer.start()
        try:
            interrupt(number, frame)
        finally:
            # Ansible leaves the default, by which a second Ctrl-C would end Python at once. This
            # process ends without it, and what it does at its end has limits of its own.
            if os.getpid() == process:
                signal.signal(number, signal.SIG_IGN)

    def ended(number, frame):
        if os.getpid() == process:
            interrupted(signal.SIGINT, frame)
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    sys.unraisablehook = raise_again
    if callable(interrupt):
        signal.signal(signal.SIGINT, interrupted)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, ended)


def before_signal(number: int, act: Callable[[], object]) -> None:
    """Have ``act`` called when a signal arrives, before what is done at it now.

    A signal that is ignored stays so: nohup ignores SIGHUP, so that the run goes on.
    """
    before = signal.getsignal(number)

    def handle(number, frame):
        act()
        if callable(before):
            before(number, frame)
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    if before not in (signal.SIG_IGN, None):
        signal.signal(number, handle)


def run_to_end(
    command: Sequence[str], env: Mapping[str, str], pass_fds: Sequence[int], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a program as subprocess.run does; after Ctrl-C it goes on without this process.

    :raises OSError: it cannot be started.
    :raises subprocess.TimeoutExpired: it was ended after ``timeout`` seconds.
    """
    # A file, since a pipe would break.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            command,
            env=env,
            pass_fds=pass_fds,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        output.seek(0)
        return subprocess.CompletedProcess(command, process.returncode, output.read())


def _end(leaving: threading.Event) -> None:
    """End the workers with what they started, and this process as at its end.

    :param leaving: set where the process ends by itself: Ctrl-C may arrive then too.
    """
    if leaving.is_set():
        return
    for worker in multiprocessing.active_children():
        with suppress(OSError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.kill()
    atexit._run_exitfuncs()
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(ExitCode.KEYBOARD_INTERRUPT)
