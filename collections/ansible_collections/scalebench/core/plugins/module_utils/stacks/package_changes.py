"""Find in a package manager's simulation what it must not change."""

from __future__ import annotations

import re
from typing import List

__all__ = ["kernel_changes"]

# `Inst linux-image-6.1.0-40-amd64 (6.1.153-1 Debian:12/stable [amd64])`, and the same with Remv.
_APT = re.compile(r"^(Inst|Remv) (linux-image-\S+)", re.MULTILINE)


def kernel_changes(simulation: str) -> List[str]:
    """Return what ``apt-get --simulate`` would do to kernels: `install` or `remove`, and which."""
    words = {"Inst": "install", "Remv": "remove"}
    return [f"{words[verb]} {package}" for verb, package in _APT.findall(simulation)]
