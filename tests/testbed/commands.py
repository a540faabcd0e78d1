"""Run programs; say what failed, and where."""

from __future__ import annotations

import subprocess
import sys


class TestbedError(Exception):
    """What the user has to know or to do."""

    __test__ = False


def run(*command: str, stdin: bytes | None = None) -> str:
    """Run a program and return its output.

    :raises TestbedError: it is not there or fails; with the last lines of what it said.
    """
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, check=False)
    except FileNotFoundError:
        raise TestbedError(f"no {command[0]} here") from None
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise TestbedError("\n  ".join([f"failed: {' '.join(command)}", *said[-5:]]))
    return done.stdout.decode(errors="replace")


def succeeds(*command: str) -> bool:
    """Return whether a program is there and ends well."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def say(text: str) -> None:
    """Tell the user what goes on."""
    print(f"testbed: {text}", file=sys.stderr, flush=True)
