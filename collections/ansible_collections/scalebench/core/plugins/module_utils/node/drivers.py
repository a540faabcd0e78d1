"""PCI devices of this node, and the software that drives them: NVIDIA driver and NCCL."""

from __future__ import annotations

import ctypes
import glob
import os
import re
import sys
from typing import Any, Dict, List, Optional, Sequence, TypedDict, Union

from .programs import run_program

__all__ = ["cuda_state", "driver", "gpu_direct", "pci_devices", "version_code"]

# Folders of Debian and Ubuntu, of the RHEL family, and of a .run file on either.
_LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64")
_LIBRARY = "libnvidia-ml.so."
# Runs in a process of its own: cuInit may hang or crash, and sees the GPUs of its first call only.
_CUDA = """
import ctypes
cuda, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(0)
print(cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)), count.value)
"""
CUDA_PATIENCE_SECONDS = 60


class PciDevice(TypedDict):
    """One PCI device; its identifiers are lower-case hexadecimal digits without 0x."""

    slot: str
    vendor: str  # four digits
    device: str  # four digits
    device_class: str  # six digits: class, subclass, programming interface
    driver: Optional[str]


def pci_devices(vendor: str = "", sysfs: str = "/sys") -> List[PciDevice]:
    """Return the PCI devices in the order of the bus; none on a node without a PCI bus.

    They are read from sysfs, so they need no driver. Format of its files:
    Documentation/ABI/testing/sysfs-bus-pci of the Linux kernel.

    :param vendor: four hexadecimal digits, ``10de`` for NVIDIA, ``15b3`` for Mellanox; empty for
        all.
    :param sysfs: where sysfs is mounted.
    """
    folder = os.path.join(sysfs, "bus/pci/devices")
    try:
        slots = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    devices = [_device(os.path.join(folder, slot), slot) for slot in slots]
    return [device for device in devices if not vendor or device["vendor"] == vendor.lower()]


def _device(path: str, slot: str) -> PciDevice:
    try:
        driver: Optional[str] = os.path.basename(os.readlink(os.path.join(path, "driver")))
    except OSError:
        driver = None
    return {
        "slot": slot,
        "vendor": _digits(path, "vendor"),
        "device": _digits(path, "device"),
        "device_class": _digits(path, "class"),
        "driver": driver,
    }


def _digits(path: str, name: str) -> str:
    """Return a hexadecimal number without 0x."""
    with open(os.path.join(path, name), encoding="ascii") as file:
        return file.read().strip()[2:].lower()


def driver(
    sysfs: str = "/sys",
    folders: Sequence[str] = _LIBRARY_FOLDERS,
    uninstaller: str = "/usr/bin/nvidia-uninstall",
) -> Dict[str, Union[str, bool, None]]:
    """Return the versions of the driver's libraries and of its kernel module.

    :param sysfs: where sysfs is mounted.
    :param folders: where the driver's libraries may be.
    :returns: ``driver_installed``, the version in the file name of NVML's library, however it was
        installed; ``driver_loaded``, the version of the loaded kernel module; both None without
        one; ``driver_runfile``, whether it is from NVIDIA's .run file, which alone has an
        uninstaller; ``nouveau_loaded``, whether nouveau is loaded instead.
    """
    return {
        "driver_installed": _installed(folders),
        "driver_loaded": _read(os.path.join(sysfs, "module/nvidia/version")),
        "driver_runfile": os.path.lexists(uninstaller),
        "nouveau_loaded": os.path.isdir(os.path.join(sysfs, "module/nouveau")),
    }


def gpu_direct(sysfs: str = "/sys", proc: str = "/proc") -> str:
    """Return by what RDMA adapters read GPU memory: a kernel module, ``DMA-BUF``, or nothing.

    Only the open kernel modules export DMA-BUF; the driver's version file names them. RDMA takes it
    from kernel 5.12 on (NVIDIA's GPUDirect RDMA guide; ib_umem_dmabuf_get of Linux).
    """
    for module in ("nvidia_peermem", "nv_peer_mem"):
        if os.path.isdir(os.path.join(sysfs, "module", module)):
            return module
    version = _read(os.path.join(proc, "driver/nvidia/version")) or ""
    kernel = re.findall(r"\d+", _read(os.path.join(proc, "sys/kernel/osrelease")) or "")[:2]
    able = [int(number) for number in kernel] >= [5, 12]
    return "DMA-BUF" if able and "Open Kernel Module" in version else ""


def _installed(folders: Sequence[str]) -> Optional[str]:
    for folder in folders:
        paths = sorted(glob.glob(os.path.join(folder, f"{_LIBRARY}*.*")))
        # Debian's own packages have it in nvidia/current, behind links of update-alternatives.
        paths.append(os.path.realpath(os.path.join(folder, f"{_LIBRARY}1")))
        for path in paths:
            version = os.path.basename(path)[len(_LIBRARY) :]
            if "." in version and os.path.exists(path):
                return version
    return None


def _read(path: str) -> Optional[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return None


def cuda_state() -> Dict[str, Any]:
    """Return how a program of this session would find CUDA, which nvidia-smi does not use.

    :returns: ``code``, the CUresult of cuInit or else of cuDeviceGetCount; ``devices``, their
        number; both None where the calls do not end, with the reason in ``error``.
    """
    environment = {key: text for key, text in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"}
    state: Dict[str, Any] = {"code": None, "devices": None, "error": ""}
    try:
        command = [sys.executable, "-c", _CUDA]
        done = run_program(command, CUDA_PATIENCE_SECONDS, ": cuInit does not end", environment)
    except ValueError as error:
        return {**state, "error": str(error)}
    if done.returncode:
        words = done.stderr.strip().splitlines() or [f"cuInit ended with {done.returncode}"]
        return {**state, "error": words[-1]}
    code, devices = done.stdout.split()
    return {**state, "code": int(code), "devices": int(devices)}


def version_code(library: str) -> int:
    """Return the code of ``ncclGetVersion`` of a library.

    :param library: its name, resolved by the dynamic linker, or its path.
    :raises OSError: the library or one that it needs cannot be loaded.
    :raises ValueError: the library is not NCCL, or its call fails.
    """
    loaded = ctypes.CDLL(library)
    code = ctypes.c_int()
    try:
        result = loaded.ncclGetVersion(ctypes.byref(code))
    except AttributeError:
        raise ValueError(f"{library} has no ncclGetVersion: it is not NCCL") from None
    if result:
        raise ValueError(f"ncclGetVersion of {library} failed with ncclResult_t {result}")
    return code.value
