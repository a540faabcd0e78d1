"""Look into an interpreter's site-packages; to start it would take ten times longer."""

from __future__ import annotations

import glob
import os
import re
from typing import Any, Dict, List

from ansible_collections.scalebench.core.plugins.module_utils.evidence.packages import (
    nccl_version,
    packages,
)

__all__ = ["environment_facts"]


def environment_facts(python: str) -> Dict[str, Any]:
    """Return ``python`` (its version), ``packages`` (version by name), ``nccl`` of an interpreter.

    :param python: path of the interpreter: of a virtual environment, of conda or of the system.
    :returns: null, and no packages, where its folders cannot be found.
    """
    config = _config(python)
    match = re.search(r"python(3\.\d+)", os.path.basename(os.path.realpath(python)))
    version = match.group(1) if match else "3*"
    found = packages(
        name
        # The first folder is the first on the interpreter's path: its packages come last and stay.
        for prefix in reversed(_prefixes(python, config))
        # Debian keeps its own packages in a folder for all versions.
        for name in _names(prefix, "3") + _names(prefix, version)
    )
    return {
        "python": config.get("version_info") or config.get("version") or (match and version),
        "packages": found,
        "nccl": nccl_version(found),
    }


def _prefixes(python: str, config: Dict[str, str]) -> List[str]:
    """Return the folders above bin/ and lib/, in the interpreter's order."""
    own = _above(os.path.abspath(python))
    if config.get("include-system-site-packages") == "true":
        return [own, os.path.dirname(config["home"])]
    if config:
        return [own]
    real = _above(os.path.realpath(python))
    return ["/usr/local", real] if real == "/usr" else [real]


def _above(program: str) -> str:
    return os.path.dirname(os.path.dirname(program))


def _config(python: str) -> Dict[str, str]:
    """Return pyvenv.cfg of a virtual environment, else nothing."""
    try:
        with open(f"{_above(os.path.abspath(python))}/pyvenv.cfg", encoding="utf-8") as file:
            pairs = [line.partition("=") for line in file]
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in pairs}


def _names(prefix: str, version: str) -> List[str]:
    found = glob.glob(f"{prefix}/lib*/python{version}/*-packages/*-info")
    return [os.path.basename(path) for path in found]
