"""Run a command in a folder of its own, until it ends or standard input is closed.

    attended.py FOLDER COMMAND...

Killing the client of `docker exec` does not end what it started, but closes this program's standard
input: then the command and all its descendants are ended. Standard library only; runs on Python
3.5, which the oldest images need.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import time

GRACE = 5  # seconds between SIGTERM and SIGKILL
ENDED = 143  # the exit code after a signal, a shell's for SIGTERM
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PATIENCE = 60  # seconds to wait for an earlier command in the same folder
_PR_SET_CHILD_SUBREAPER = 36


def main(arguments):
    """Run the command in the folder and return its exit code; 128 + N if signal N ended it."""
    if len(arguments) < 2:
        print("usage: attended.py FOLDER COMMAND...", file=sys.stderr)
        return 2
    folder, command = arguments[0], arguments[1:]
    # Orphans of the command become children of this process, so that they can be ended.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in SIGNALS:
        signal.signal(number, lambda *_: sys.exit(ENDED))
    with open(folder + ".lock", "w") as lock:
        if not _locked(lock):
            print("attended.py:", folder, "is still in use after", PATIENCE, "s", file=sys.stderr)
            return 75
        # That of NCCL's files stays at the end: in_container.py copies it.
        traces = os.path.dirname(os.environ.get("NCCL_DEBUG_FILE", ""))
        for emptied in filter(None, (folder, traces)):
            shutil.rmtree(emptied, ignore_errors=True)
            os.makedirs(emptied)
        try:
            return _run(command, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _locked(lock):
    for _ in range(10 * PATIENCE):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
        time.sleep(0.1)
    return False


def _run(command, folder):
    # An exception out of the start of the command would leave it unknown here, and running.
    signals = []
    for number in SIGNALS:
        signal.signal(number, lambda received, _: signals.append(received))
    try:
        child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL)
    except OSError as error:
        print("attended.py:", command[0] + ":", error.strerror, file=sys.stderr)
        return 127
    try:
        _wait(child, _input(), signals)
        signalled = bool(signals)
    finally:
        _end_descendants(child)
    code = ENDED if signalled else child.returncode
    if code is None:
        return 1
    return code if code >= 0 else 128 - code


def _input():
    """Return what to watch for its end: standard input if it is a pipe, else nothing."""
    mode = os.fstat(0).st_mode
    return [0] if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else []


def _wait(child, inputs, signals):
    while child.poll() is None and not signals:
        readable, _, _ = select.select(inputs, [], [], 0.2)
        if readable and not os.read(0, 4096):
            return


def _end_descendants(child):
    for number in (signal.SIGTERM, signal.SIGKILL):
        left, signalled = _descendants(os.getpid()), set()
        deadline = time.monotonic() + GRACE
        while left and time.monotonic() < deadline:
            # In each round, for those that were started since the last one.
            for pid in set(left) - signalled:
                # Those of another account, as of sudo, may not be signalled.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            signalled.update(left)
            time.sleep(0.05)
            # Orphans are reaped after the command: waiting for any child must not take its code.
            while child.poll() is not None and _reaped():
                pass
            left = _descendants(os.getpid())
    if child.poll() is None:
        print("attended.py: process", child.pid, "goes on after SIGKILL", file=sys.stderr)


def _reaped():
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return 0


def _descendants(root):
    """Return the processes below `root` that have not ended."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(os.path.join("/proc", name, "stat"), "rb") as file:
                    # A program's name may hold spaces and parentheses; what follows it does not.
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except (OSError, ValueError):
                continue
            children.setdefault(int(parent), []).append((int(name), state))
    living, below = [], [root]
    while below:
        for pid, state in children.get(below.pop(), []):
            below.append(pid)
            if state != b"Z":
                living.append(pid)
    return living


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
