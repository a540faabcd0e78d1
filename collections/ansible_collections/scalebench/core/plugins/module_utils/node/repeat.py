"""One repeat of a training on this node: the work of module training_run."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import socket
import tempfile
import time
import zlib
from typing import Any, Dict, Iterator, List, Mapping

from ..telemetry.nccl import transports, with_trace
from .durable import create, replace
from .gpus import device_users
from .processes import RUN_VARIABLE
from .runs import attended, end_strays, packed
from .supervise import supervise

__all__ = ["ARGUMENTS", "run_repeat", "transports_in"]

ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "argv": {"type": "list", "elements": "str", "required": True},
    "environment": {"type": "dict", "default": {}},
    "rank": {"type": "int", "default": 0},
    # A path of the node, which only the node can expand.
    "work_dir": {"type": "str", "required": True},
    "devices": {"type": "list", "elements": "int", "default": []},
    "directory": {"type": "str", "required": True},
    "name": {"type": "str", "required": True},
    "timeout": {"type": "float", "default": 0},
    "stall": {"type": "float", "default": 0},
    "memory_mib": {"type": "int", "default": 0},
    "grace": {"type": "float", "default": 60},
    "failed_file": {"type": "path"},
    "sample_interval": {"type": "float", "default": 2},
    "fetch_to": {"type": "path"},
}


@contextlib.contextmanager
def _temporary_folder() -> Iterator[str]:
    """Make a folder for the temporary files of the run's processes, and remove it at the end.

    torchrun leaves a folder behind whenever it runs, and a process that is ended leaves all of its
    own. The folder has a short name because a socket's name may have 107 bytes, unix(7), of which
    Python's multiprocessing takes 32, Open MPI's ranks 13 more, and the site's TMPDIR the rest.
    This process may be killed too, as schedulers do: the next one removes its folder. Machines and
    containers that share the place of temporary files see no processes of each other: each removes
    those of its own host and namespace of pids.
    """
    place = f"{socket.gethostname()} {os.stat('/proc/self/ns/pid').st_ino}"
    prefix = f"scalebench-{zlib.crc32(place.encode()):08x}-"
    for left in glob.glob(os.path.join(tempfile.gettempdir(), f"{prefix}[0-9]*-*")):
        maker = left.rpartition(prefix)[2].partition("-")[0]
        if not os.path.exists(f"/proc/{maker}"):
            # Those of other users stay.
            shutil.rmtree(left, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_repeat(args: Mapping[str, Any]) -> Dict[str, Any]:
    """Run the launcher, write the record of the run atomically, and return the module's result.

    Standard output is the pipe to the controller: the run is ended when its other end is closed.

    :param args: all of ``ARGUMENTS``, validated.
    :raises ValueError: another repeat holds the node, a process of an earlier one does not end, or
        files cannot be written; the message names the run.
    """
    work_dir = os.path.expanduser(os.path.expandvars(args["work_dir"]))
    run = os.path.join(work_dir, args["directory"], args["name"])
    try:
        record = _recorded(args, work_dir, run)
        content = packed(record["log"]) if args["fetch_to"] else None
    except (OSError, ValueError) as error:
        raise ValueError(f"{run}: {error}") from None
    return {"changed": True, "packed_log": content, **record}


def _recorded(args: Mapping[str, Any], work_dir: str, run: str) -> Dict[str, Any]:
    """Run the launcher; return the record, which is a file then."""
    environment = {key: str(value) for key, value in args["environment"].items()}
    record = {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "node": os.environ.get("SCALEBENCH_NODE", ""),
        "rank": args["rank"],
        "argv": args["argv"],
        "env": environment,
        "memory_mib": args["memory_mib"],
        "log": run + ".log",
    }
    os.makedirs(os.path.dirname(run), exist_ok=True)
    with attended(work_dir, run, args["devices"]), _temporary_folder() as temporary:
        record["strays"] = len(end_strays(work_dir, run))
        record["device_users"] = device_users(environment)
        folder = run + ".files"
        shutil.rmtree(folder, ignore_errors=True)
        # Private, because launchers write their environment there, which may hold secrets.
        os.makedirs(folder, mode=0o700)
        record.update(
            supervise(
                args["argv"],
                record["log"],
                {
                    "TMPDIR": temporary,
                    "TORCHINDUCTOR_CACHE_DIR": os.path.join(work_dir, "compiled"),
                    **with_trace(environment, folder),
                    RUN_VARIABLE: run,
                },
                args["timeout"],
                0 if args["rank"] else args["stall"],
                controller=1,
                sample_interval=args["sample_interval"],
                memory_mib=args["memory_mib"],
                folder=folder,
                patience=float(os.environ.get("SCALEBENCH_ALIVE") or 0),
            )
        )
        shutil.rmtree(os.path.join(folder, "output"), ignore_errors=True)
        record["transport"] = transports_in(folder)
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # most launchers leave it empty
    part = run + ".run.json.part"
    with open(create(part), "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1, sort_keys=True)
    replace(part, run + ".run.json")
    return record


def transports_in(folder: str) -> List[str]:
    """Return the transports of all ranks whose NCCL left a trace in the folder."""
    lines: List[str] = []
    for path in glob.glob(os.path.join(glob.escape(folder), "nccl.*.log")):
        if os.path.isfile(path):  # A trainer may have made a pipe, which has no end.
            with open(path, encoding="utf-8", errors="replace") as file:
                lines += file
    return transports(lines)
