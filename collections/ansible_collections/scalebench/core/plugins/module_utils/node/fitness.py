"""Facts for the preflight beyond the fingerprint: limits, health of GPUs, ssh, containers."""

from __future__ import annotations

import fcntl
import os
import re
import resource
import socket
import struct
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.evidence.fingerprint import known

from . import nvidia_smi
from .kernel_counters import read_text
from .programs import run_program

__all__ = [
    "addresses",
    "container",
    "gpu_health",
    "gpu_processes",
    "memlock_kib",
    "routes",
    "writable",
    "xid_codes",
]

PATIENCE = 30
# Yes is the answer of --query-gpu, 1 that of --query-remapped-rows.
_YES = ("Yes", "1")
_SIOCGIFADDR, _RTF_UP, _RTF_REJECT = 0x8915, 0x1, 0x200
# sysfs shows a device also in containers that do not have its node in /dev. NCCL loads the library.
_VERBS = "libibverbs.so.1"
_DEVICES = (
    "for path in /dev/infiniband/uverbs*; do"
    ' cat "/sys/class/infiniband_verbs/${path##*/}/ibdev" 2>/dev/null; done;'
    f" ldconfig -p 2>/dev/null | grep -o '{_VERBS}' | head -n 1; true"
)


def addresses() -> Dict[str, str]:
    """Return the first IPv4 address of each interface that has one (netdevice(7))."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode())
            try:
                answer = fcntl.ioctl(asking, _SIOCGIFADDR, request)
            except OSError:
                continue
            found[name] = socket.inet_ntoa(answer[20:24])
    return found


def routes(text: Optional[str] = None) -> List[Dict[str, Any]]:
    """Return ``interface``, ``network`` (as 10.11.0.0/16) and ``metric`` of the IPv4 routes.

    Those of the main table: other tables are the administrator's own rules. One that refuses, such
    as ``unreachable``, has no interface.

    :param text: of /proc/net/route (proc_net(5)), which is read by default.
    """
    found = []
    for line in (read_text("/proc/net/route") if text is None else text).splitlines()[1:]:
        name, network, _, flags, _, _, metric, mask = line.split()[:8]
        if int(flags, 16) & _RTF_UP:
            address = socket.inet_ntoa(struct.pack("=L", int(network, 16)))
            bits = bin(int(mask, 16)).count("1")
            own = "" if int(flags, 16) & _RTF_REJECT else name
            found.append({"interface": own, "network": f"{address}/{bits}", "metric": int(metric)})
    return found


def writable(folder: str) -> bool:
    """Return whether a folder can be written to; one that is not there yet counts as such.

    A file system that an error made read-only cannot.
    """
    return not os.path.isdir(folder) or os.access(folder, os.W_OK | os.X_OK)


def memlock_kib() -> int:
    """Return the limit of memory that a session may lock, in KiB; -1 for no limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return -1 if soft == resource.RLIM_INFINITY else soft // 1024


def gpu_health(*options: str) -> List[Dict[str, Any]]:
    """Return the state of each GPU; None for what its driver or the GPU does not report.

    ``ecc_uncorrected`` counts memory errors since the driver was loaded. ``repair_pending`` and
    ``repair_failed`` are of retired pages (V100 and earlier) or remapped rows (A100 and later).
    ``mig`` is Enabled or Disabled, ``fabric`` the state of NVSwitch, such as Completed.

    :param options: further options of nvidia-smi, such as ``--id=0,1``.
    :raises ValueError: nvidia-smi fails; with its message.
    """
    switch = "--query-remapped-rows"
    gpus = nvidia_smi.ask("--query-gpu", nvidia_smi.HEALTH, *options)
    if any(gpu["remapped_rows.pending"] is None for gpu in gpus):
        fields = nvidia_smi.FIELDS[switch]
        rows = {row["gpu_uuid"]: row for row in nvidia_smi.ask(switch, fields, *options)}
        gpus = [{**gpu, **rows.get(gpu["uuid"], {})} for gpu in gpus]
    return [_health({field: known(text) for field, text in gpu.items()}) for gpu in gpus]


def _health(gpu: Mapping[str, Optional[str]]) -> Dict[str, Any]:
    errors = gpu["ecc.errors.uncorrected.volatile.total"]
    pending = [gpu["retired_pages.pending"], gpu["remapped_rows.pending"]]
    failure = gpu["remapped_rows.failure"]
    fabric = [gpu["fabric.state"], gpu["fabric.status"]]
    return {
        "index": int(gpu["index"] or 0),
        "ecc_uncorrected": int(errors) if errors and errors.isdigit() else None,
        "repair_pending": any(word in _YES for word in pending) if any(pending) else None,
        "repair_failed": None if failure is None else failure in _YES,
        "mig": gpu["mig.mode.current"],
        "fabric": ", ".join(word for word in fabric if word) or None,
    }


def gpu_processes(*options: str) -> List[str]:
    """Return ``<pid> <name>`` of every compute process on a GPU.

    :param options: further options of nvidia-smi, such as ``--id=0,1``.
    :raises ValueError: nvidia-smi fails; with its message.
    """
    return [f"{pid} {os.path.basename(name)}" for pid, name in nvidia_smi.processes(*options)]


def xid_codes() -> Optional[List[int]]:
    """Return the codes of Xid errors in the kernel's log since boot; None if it is unreadable."""
    for command in (["journalctl", "--dmesg", "--output=cat", "--no-pager"], ["dmesg"]):
        try:
            done = run_program(command, PATIENCE)
        except ValueError:
            continue
        # Without permission to read the log journalctl prints nothing and exits with 0.
        if not done.returncode and done.stdout.strip():
            return [int(code) for code in re.findall(r"NVRM: Xid \([^)]*\): (\d+)", done.stdout)]
    return None


def container(engine: str, name: str) -> Dict[str, Any]:
    """Return the ``image`` (its id) of a running container and the RDMA ``devices`` it can open.

    ``verbs`` says whether it has libibverbs, without which NCCL uses sockets.

    :raises ValueError: the container cannot be inspected; with the engine's message.
    """
    image = _answer([engine, "inspect", "--format", "{{.Image}}", name])
    found = {*_answer([engine, "exec", name, "sh", "-c", _DEVICES]).split()}
    devices = sorted(found - {_VERBS})
    return {"image": image.strip(), "devices": devices, "verbs": _VERBS in found}


def _answer(command: Sequence[str]) -> str:
    done = run_program(command, PATIENCE)
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip()).replace("\n", " ")
        raise ValueError(f"{command[0]}: {words or f'exit code {done.returncode}'}")
    return done.stdout
