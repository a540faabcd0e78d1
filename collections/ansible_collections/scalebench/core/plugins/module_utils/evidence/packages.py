"""Which packages a Python environment holds, out of the names in its site-packages."""

from __future__ import annotations

import re
from typing import Dict, Iterable, Mapping, Optional

__all__ = ["nccl_version", "packages"]

# https://packaging.python.org/en/latest/specifications/recording-installed-packages/
_INSTALLED = re.compile(r"(?P<name>.+?)-(?P<version>[0-9][^-]*)(-py[0-9.]+)?\.(dist|egg)-info")


def packages(names: Iterable[str]) -> Dict[str, str]:
    """Return version by package, in the order of their names.

    :param names: of the files in site-packages, as ``torch-2.9.1+cpu.dist-info``; others are
        passed over.
    """
    found = {}
    for name in names:
        match = _INSTALLED.fullmatch(name)
        if match:
            found[match["name"].replace("_", "-").lower()] = match["version"]
    return dict(sorted(found.items()))


def nccl_version(installed: Mapping[str, str]) -> Optional[str]:
    """Return the version of the NCCL that came as a package (``nvidia-nccl-cu12``), else None.

    A framework of a container uses the system's library instead.
    """
    for name, version in installed.items():
        if name.startswith("nvidia-nccl-"):
            return version
    return None
