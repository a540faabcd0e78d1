"""nvidia-smi: where it is, what this project asks of it, and what its refusals mean."""

from __future__ import annotations

import glob
import os
import re
import shutil
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.scalebench.core.plugins.module_utils.evidence.fingerprint import (
    GPU_QUERY,
    SETTINGS_QUERY,
    known,
)

from .drivers import pci_devices
from .programs import run_program

__all__ = [
    "FIELDS",
    "GIVEN",
    "HEALTH",
    "SIGNS",
    "ask",
    "chosen",
    "driver_paths",
    "environment",
    "find",
    "processes",
    "roll_call",
    "signs_of_a_gpu",
]

# retired_pages is for V100 and earlier, remapped_rows for A100 and later.
HEALTH = (
    *("index", "uuid", "ecc.errors.uncorrected.volatile.total", "retired_pages.pending"),
    *("remapped_rows.pending", "remapped_rows.failure"),
    *("mig.mode.current", "fabric.state", "fabric.status"),
)
# Every name that this project asks of nvidia-smi, by switch. Drivers from 450 know the names of
# --query-remapped-rows, those from 590 have them in --query-gpu too (tests hold all of them
# against nvidia-smi of Debian's drivers and captures of newer ones).
FIELDS: Mapping[str, Tuple[str, ...]] = {
    "--query-gpu": tuple(dict.fromkeys((*GPU_QUERY, *SETTINGS_QUERY, *HEALTH, "pci.bus_id"))),
    "--query-remapped-rows": ("gpu_uuid", "remapped_rows.pending", "remapped_rows.failure"),
    "--query-compute-apps": ("pid", "process_name"),
}
# What a carrier whose nodes have several users says of the GPUs that a command may use, as in
# CUDA_VISIBLE_DEVICES. The device files of the others may be there all the same.
GIVEN = "SCALEBENCH_GPUS"
# Where it may be when the PATH of an ssh session lacks its folder, and the folder of its library:
# distributions, .run files, images of containers, NVIDIA's GPU operator, WSL.
_FOLDERS = {
    "/usr/bin": "",
    "/usr/local/bin": "",
    "/usr/local/nvidia/bin": "/usr/local/nvidia/lib64",
    "/run/nvidia/driver/usr/bin": "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
    "/usr/lib/wsl/lib": "/usr/lib/wsl/lib",
}
# Present where a NVIDIA driver is loaded, or the devices of one were given to a container.
# /dev/nvidiactl is no sign: as root nvidia-smi makes it also on a node that has no driver.
SIGNS = ("/proc/driver/nvidia", "/dev/nvidia[0-9]*", "/dev/dxg")
_REFUSED = re.compile(r'Field "([^"]*)" is not a valid field to query')
# Drivers before 450 do not have this switch. By these words programs before and since 535 refuse
# one; the exit codes with them have other meanings too.
_LATER_SWITCH = "--query-remapped-rows"
_UNKNOWN_SWITCH = re.compile(r"Invalid combination of input arguments|Option \S+ is not recognized")
# Manual page, section RETURN VALUE. With this warning all rows are there, and 14 is no failure.
_NO_DEVICES, _CORRUPT_INFOROM = 6, 14
_WARNING = "WARNING: infoROM is corrupted"
# What tells a row from a message among the rows. In brackets is why there is no value.
_FORMS = {
    **dict.fromkeys(("index", "pid"), re.compile(r"\d+|\[.*\]")),
    **dict.fromkeys(("uuid", "gpu_uuid"), re.compile(r"(GPU|MIG)-.+|\[.*\]")),
    "pci.bus_id": re.compile(r"[\dA-Fa-f:.]+|\[.*\]"),
}
PATIENCE_SECONDS = 60
_TODO = (
    "Install or repair the driver (playbooks/provision.yml; dmesg | grep NVRM), or set"
    " scalebench_gpus: false for this node to measure only its CPUs."
)


def chosen(ids: str) -> Optional[List[str]]:
    """Return the numbers of the GPUs that may be used, None for all of the node.

    :param ids: numbers with commas between them, ``none`` or ``all``: ``scalebench_gpus``.
    :raises ValueError: the carrier gave others, or not whole GPUs.
    """
    wanted = None if ids == "all" else [] if ids == "none" else ids.split(",")
    given = os.environ.get(GIVEN)
    if given is None:
        return wanted
    # A scheduler's word for none.
    numbers = [] if given in ("", "NoDevFiles") else given.split(",")
    if not all(number.isdecimal() for number in numbers):
        raise ValueError(f"the job has GPUs {given}, and Scalebench measures whole GPUs only")
    others = [number for number in wanted or () if number not in numbers]
    if others:
        raise ValueError(
            f"scalebench_gpus names GPU {', '.join(others)}, and the job has"
            f" {', '.join(numbers) or 'none'} on this node"
        )
    return numbers if wanted is None else wanted


def find() -> Optional[str]:
    """Return the path of nvidia-smi: from PATH, else one of the usual folders; None without it."""
    return shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path=":".join(_FOLDERS))


def environment(program: str) -> Dict[str, str]:
    """Return what the nvidia-smi that :func:`find` returned needs beside this environment."""
    library = _FOLDERS.get(os.path.dirname(program))
    paths = filter(None, [library, os.environ.get("LD_LIBRARY_PATH")])
    return {"LD_LIBRARY_PATH": ":".join(paths)} if library else {}


def driver_paths() -> List[str]:
    """Return which of ``SIGNS`` are there."""
    return [path for pattern in SIGNS for path in sorted(glob.glob(pattern))]


def signs_of_a_gpu() -> List[str]:
    """Return what shows that this node has a NVIDIA GPU; empty without any."""
    return driver_paths() + [f"PCI device {slot}" for slot in _on_the_bus("/sys")]


def _on_the_bus(sysfs: str) -> List[str]:
    # Class 03 is a display controller; NVIDIA's bridges and sound devices have others.
    devices = pci_devices("10de", sysfs)
    return [pci["slot"] for pci in devices if pci["device_class"].startswith("03")]


def roll_call(root: str = "") -> Tuple[List[str], str]:
    """Return the PCI addresses of GPUs that do not answer, and what nvidia-smi says beside rows.

    A GPU that its driver cannot start is on the bus, and nvidia-smi may list the others only. A
    container sees the bus of its host: there only GPUs count that it has the device file of.

    :param root: the folder of ``/sys``, ``/proc`` and ``/dev``.
    :raises ValueError: as :func:`ask`.
    """
    rows, words = _answer("--query-gpu", ("pci.bus_id",))
    given = _on_the_bus(f"{root}/sys")
    with open(f"{root}/proc/self/mounts", encoding="utf-8", errors="replace") as file:
        kinds = [line.split()[2] for line in file if line.split()[1] == "/dev"]
    # The kernel fills a devtmpfs; a container has a /dev of its own.
    if kinds[-1:] != ["devtmpfs"]:
        given = [slot for slot in given if _has_file(slot, root)]
    # nvidia-smi writes the domain with eight digits, in capitals.
    answered = {str(row["pci.bus_id"]).lower().lstrip("0") for row in rows}
    silent = [slot for slot in given if slot.lstrip("0") not in answered]
    return silent if len(rows) < len(given) else [], words


def _has_file(slot: str, root: str) -> bool:
    """Whether a GPU has a device file, by its minor number (kernel-open/nvidia/nv-procfs.c)."""
    try:
        with open(f"{root}/proc/driver/nvidia/gpus/{slot}/information", encoding="utf-8") as file:
            minor = re.search(r"Device Minor:\s*(\d+)", file.read())
    except OSError:
        return False
    return minor is not None and os.path.exists(f"{root}/dev/nvidia{minor[1]}")


def ask(switch: str, fields: Sequence[str], *options: str) -> List[Dict[str, Optional[str]]]:
    """Return the rows of a query, by field; None for a field that the driver does not know.

    A name that the driver does not know costs only itself: nvidia-smi refuses the whole query and
    says which one, and is asked again without it. A switch that is not known gives no rows.

    :param switch: such as ``--query-gpu``.
    :param fields: names that the switch takes.
    :param options: further options of nvidia-smi.
    :returns: no rows on a node that has no NVIDIA GPU.
    :raises ValueError: there is a GPU and it cannot be asked; with the reason and what to do.
    """
    return _answer(switch, fields, *options)[0]


def _answer(
    switch: str, fields: Sequence[str], *options: str
) -> Tuple[List[Dict[str, Optional[str]]], str]:
    """Return the rows of :func:`ask`, and the words between them."""
    program = find()
    if program is None:
        _require_no_gpu("nvidia-smi is neither on the PATH of this session nor in a usual folder")
        return [], ""
    asked, refused = list(fields), set(fields)
    while refused and asked:
        query = [f"{switch}={','.join(asked)}", "--format=csv,noheader,nounits"]
        done = run_program(
            [program, *options, *query],
            PATIENCE_SECONDS,
            f". {_TODO}",
            {**os.environ, **environment(program)},
        )
        refused = set(_REFUSED.findall(done.stdout)) & set(asked)
        asked = [field for field in asked if field not in refused]
    if switch == _LATER_SWITCH and _UNKNOWN_SWITCH.search(done.stdout):
        return [], ""
    rows, words = _rows(done.stdout, asked)
    said = " ".join([*words, *done.stderr.split()]).rstrip(".") or "no message"
    fine = (0, _NO_DEVICES, _CORRUPT_INFOROM if _WARNING in done.stdout else 0)
    if done.returncode not in fine:
        raise ValueError(f"nvidia-smi: exit code {done.returncode}: {said}. {_TODO}")
    if done.returncode == _NO_DEVICES or (not rows and switch == "--query-gpu"):
        _require_no_gpu(said)
    return [{**dict.fromkeys(fields), **row} for row in rows], " ".join(words)


def _rows(text: str, fields: Sequence[str]) -> Tuple[List[Dict[str, str]], List[str]]:
    """Return the rows of an answer, by field, and its other lines."""
    rows, words = [], []
    for line in filter(None, map(str.strip, text.splitlines())):
        # The last field may be the name of a program, with commas.
        cells = [cell.strip() for cell in line.split(",", len(fields) - 1)]
        row = dict(zip(fields, cells))
        forms = [(_FORMS[field], cell) for field, cell in row.items() if field in _FORMS]
        if len(cells) == len(fields) and all(form.fullmatch(cell) for form, cell in forms):
            rows.append(row)
        else:
            words.append(line)
    return rows, words


def processes(*options: str) -> List[Tuple[str, str]]:
    """Return process id and program of every process that computes on a GPU.

    :param options: further options of nvidia-smi, such as ``--id=0,1``.
    :raises ValueError: as :func:`ask`.
    """
    switch = "--query-compute-apps"
    rows = ask(switch, FIELDS[switch], *options)
    # A GPU that does not report its processes answers [N/A].
    return [(str(row["pid"]), str(row["process_name"])) for row in rows if known(row["pid"])]


def _require_no_gpu(problem: str) -> None:
    signs = signs_of_a_gpu()
    if signs:
        raise ValueError(f"this node has a NVIDIA GPU ({', '.join(signs)}), but {problem}. {_TODO}")
