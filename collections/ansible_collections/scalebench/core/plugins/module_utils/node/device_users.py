"""Ask which processes use the GPUs that a repeat is about to take."""

from __future__ import annotations

import subprocess
from typing import List, Mapping

__all__ = ["device_users"]

# Seconds; a driver that hangs is no reason to wait for it.
_PATIENCE = 20


def device_users(environment: Mapping[str, str]) -> List[str]:
    """Return `<pid>, <name>` of each process on the GPUs of ``CUDA_VISIBLE_DEVICES``.

    :param environment: the repeat's; without the variable it runs on no GPU.
    :raises ValueError: nvidia-smi is missing, fails or hangs.
    """
    indices = environment.get("CUDA_VISIBLE_DEVICES")
    if not indices:
        return []
    command = ["nvidia-smi", f"--id={indices}", "--query-compute-apps=pid,process_name"]
    try:
        done = subprocess.run(
            [*command, "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        raise ValueError(f"GPUs {indices} are asked for, and there is no nvidia-smi") from None
    except subprocess.TimeoutExpired:
        raise ValueError(f"nvidia-smi gave no answer within {_PATIENCE} s") from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip()
        raise ValueError(f"nvidia-smi: exit code {done.returncode}: {said}")
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]
