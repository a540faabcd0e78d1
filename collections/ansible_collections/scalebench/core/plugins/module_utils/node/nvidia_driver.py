"""Find out which NVIDIA driver is installed on this node and which one runs."""

from __future__ import annotations

import glob
import os
from typing import Dict, Optional, Sequence, Union

__all__ = ["LIBRARY_FOLDERS", "driver"]

# Of Debian and Ubuntu, of the RHEL family, and of a .run file on either.
LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64")
_LIBRARY = "libnvidia-ml.so."


def driver(
    sysfs: str = "/sys", folders: Sequence[str] = LIBRARY_FOLDERS
) -> Dict[str, Union[str, bool, None]]:
    """Return the versions of the driver's two halves.

    :param sysfs: where sysfs is mounted.
    :param folders: where the driver's libraries may lie.
    :returns: ``driver_installed``: the version in the name of NVML's library, whichever way it came
        there; ``driver_loaded``: the version of the kernel module that runs; null without one.
        ``nouveau_loaded``: whether nouveau runs in its place.
    """
    return {
        "driver_installed": _installed(folders),
        "driver_loaded": _read(os.path.join(sysfs, "module/nvidia/version")),
        "nouveau_loaded": os.path.isdir(os.path.join(sysfs, "module/nouveau")),
    }


def _installed(folders: Sequence[str]) -> Optional[str]:
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, f"{_LIBRARY}*.*"))):
            return os.path.basename(path)[len(_LIBRARY) :]
    return None


def _read(path: str) -> Optional[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return None
