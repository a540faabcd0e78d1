"""Programs of this node, run to their end."""

from __future__ import annotations

import contextlib
import subprocess
from typing import Mapping, Optional, Sequence

__all__ = ["run_program"]

_END_SECONDS = 1


def run_program(
    command: Sequence[str],
    patience: float,
    advice: str = "",
    environment: Optional[Mapping[str, str]] = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program without input, and return its exit code, output and errors.

    :param patience: seconds that it may take.
    :param advice: the end of the error's message.
    :param environment: its variables; None for those of this process.
    :raises ValueError: it cannot be started, or does not end in time.
    """
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise ValueError(f"{command[0]}: {error.strerror}{advice}") from None
    try:
        output, errors = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        # subprocess.run would wait for ever for one that hangs in the kernel, as with a driver.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        # Popen's own context would wait for the process too.
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()
        raise ValueError(f"{command[0]}: no answer within {patience:g} s{advice}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)
