"""Programs of this node, run to their end."""

from __future__ import annotations

import subprocess
from typing import Mapping, Optional, Sequence

__all__ = ["run_program"]


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
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{command[0]}: no answer within {patience:g} s{advice}") from None
    except OSError as error:
        raise ValueError(f"{command[0]}: {error.strerror}{advice}") from None
