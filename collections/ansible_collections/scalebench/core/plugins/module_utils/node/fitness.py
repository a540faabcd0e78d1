"""Facts for the preflight beyond the fingerprint: limits, health of GPUs, ssh, containers."""

from __future__ import annotations

import concurrent.futures
import os
import re
import resource
import shutil
import subprocess
from typing import Any, Dict, List, Mapping, Optional, Sequence

__all__ = ["container", "gpu_health", "gpu_processes", "memlock_kib", "reach", "xid_codes"]

PATIENCE = 30
# Field names of nvidia-smi; row_remapper is for A100 and later, retired_pages for V100 and earlier.
HEALTH = (
    "index",
    "ecc.errors.uncorrected.volatile.total",
    "retired_pages.pending",
    "row_remapper.pending",
)
# sysfs shows a device also in containers that do not have its node in /dev.
_DEVICES = (
    "for path in /dev/infiniband/uverbs*; do"
    ' cat "/sys/class/infiniband_verbs/${path##*/}/ibdev" 2>/dev/null; done; true'
)


def memlock_kib() -> int:
    """Return the limit of memory that a session may lock, in KiB; -1 for no limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return -1 if soft == resource.RLIM_INFINITY else soft // 1024


def gpu_health() -> List[Dict[str, Any]]:
    """Return for each GPU ``index``, ``ecc_uncorrected`` (None without ECC), ``repair_pending``.

    :raises ValueError: nvidia-smi fails; with its message.
    """
    rows = _nvidia_smi("--query-gpu=" + ",".join(HEALTH))
    return [
        {
            "index": int(fields[0]),
            # [N/A] for a GPU without ECC.
            "ecc_uncorrected": int(fields[1]) if fields[1].isdigit() else None,
            "repair_pending": "Yes" in fields[2:],
        }
        for fields in rows
    ]


def gpu_processes() -> List[str]:
    """Return ``<pid> <name>`` of every compute process on a GPU."""
    rows = _nvidia_smi("--query-compute-apps=pid,process_name")
    return [f"{fields[0]} {os.path.basename(fields[1])}" for fields in rows]


def xid_codes() -> Optional[List[int]]:
    """Return the codes of Xid errors in the kernel's log since boot; None if it is unreadable."""
    for command in (["journalctl", "--dmesg", "--output=cat", "--no-pager"], ["dmesg"]):
        try:
            done = _run(command)
        except ValueError:
            continue
        # Without permission to read the log journalctl prints nothing and exits with 0.
        if not done.returncode and done.stdout.strip():
            return [int(code) for code in re.findall(r"NVRM: Xid \([^)]*\): (\d+)", done.stdout)]
    return None


def reach(peers: Mapping[str, str], ssh_config: str) -> Dict[str, str]:
    """Return for each peer why an ssh login fails; empty if it succeeds. All are tried at once.

    :param peers: by name in the inventory, the name of the peer in ``ssh_config``.
    :param ssh_config: path of ssh's configuration (``ssh -F``).
    """
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        answers = pool.map(lambda target: _try(target, ssh_config), peers.values())
        return dict(zip(peers, answers))


def _try(target: str, ssh_config: str) -> str:
    options = ["-F", ssh_config, "-o", "BatchMode=yes", "-o", "ConnectTimeout=5"]
    try:
        done = _run(["ssh", *options, target, "true"])
    except ValueError as error:
        return str(error)
    return (done.stderr.strip().splitlines() or ["ssh failed"])[-1] if done.returncode else ""


def container(engine: str, name: str) -> Dict[str, Any]:
    """Return the ``image`` (its id) of a running container and the RDMA ``devices`` it can open.

    :raises ValueError: the container cannot be inspected; with the engine's message.
    """
    image = _answer([engine, "inspect", "--format", "{{.Image}}", name])
    devices = _answer([engine, "exec", name, "sh", "-c", _DEVICES])
    return {"image": image.strip(), "devices": sorted(devices.split())}


def _answer(command: Sequence[str]) -> str:
    done = _run(command)
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip()).replace("\n", " ")
        raise ValueError(f"{command[0]}: {words or f'exit code {done.returncode}'}")
    return done.stdout


def _nvidia_smi(query: str) -> List[List[str]]:
    if shutil.which("nvidia-smi") is None:
        return []
    text = _answer(["nvidia-smi", query, "--format=csv,noheader,nounits"])
    return [[field.strip() for field in line.split(",")] for line in text.splitlines()]


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a program to its end.

    :raises ValueError: it is not installed, or does not end within ``PATIENCE`` seconds.
    """
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{command[0]}: no answer within {PATIENCE} s") from None
    except OSError as error:
        raise ValueError(f"{command[0]}: {error.strerror}") from None
