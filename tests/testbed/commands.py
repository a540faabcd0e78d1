"""Run programs and report failures."""

from __future__ import annotations

import subprocess
import sys


class TestbedError(Exception):
    """An error with a message for the user."""

    __test__ = False


def run(*command: str, stdin: bytes | None = None) -> str:
    """Run a program and return its output.

    :raises TestbedError: the program is missing or fails; with the last lines of its output.
    """
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, check=False)
    except FileNotFoundError:
        raise TestbedError(f"{command[0]} is not installed") from None
    if done.returncode:
        output = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise TestbedError("\n  ".join([f"failed: {' '.join(command)}", *output[-5:]]))
    return done.stdout.decode(errors="replace")


def succeeds(*command: str) -> bool:
    """Return whether a program exists and succeeds."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def say(text: str) -> None:
    """Print a progress message."""
    print(f"testbed: {text}", file=sys.stderr, flush=True)
