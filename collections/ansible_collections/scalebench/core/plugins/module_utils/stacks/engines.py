"""Which container engine a node has, and what role container_engine may change about it."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Sequence

__all__ = ["daemon_settings", "engine_found"]

# Docker's client may be there without its daemon, to reach one elsewhere.
_PROGRAMS: Mapping[str, Sequence[str]] = {"docker": ("docker", "dockerd"), "podman": ("podman",)}


def engine_found(programs: Mapping[str, Mapping[str, Any]], engine: str) -> str:
    """Return the version of an engine that a node has; empty without one.

    ``docker --version`` prints ``Docker version 28.2.2, build e6534b4``, that of the package
    podman-docker ``podman version 4.3.1``.

    :param programs: as module ``program_info`` returns them, of the engine's programs.
    :param engine: docker or podman.
    """
    version = ""
    for name in _PROGRAMS[engine]:
        lines = " ".join(programs.get(name, {}).get("lines", []))
        found = re.search(rf"\b{engine} version (\d[\w.+~-]*)", lines, re.IGNORECASE)
        if not found:
            return ""
        version = found[1]
    return version


def daemon_settings(
    present: Mapping[str, Any],
    wanted: Mapping[str, Any],
    needed: Mapping[str, Any],
    kept: bool,
    allowed: bool,
) -> Dict[str, Any]:
    """Return the settings of a daemon after the role; values that are there stay.

    :param present: those of the file.
    :param wanted: those of an engine that the role installs.
    :param needed: those that an engine needs which was there before.
    :param kept: whether the engine was there before.
    :param allowed: whether ``wanted`` and ``needed`` may replace values that are there.
    """
    added = needed if kept and not allowed else _merged(wanted, needed)
    return _merged(present, added) if allowed else _merged(added, present)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Dict[str, Any]:
    """Return both mappings in one; a value of ``above`` takes the place of one of ``below``."""
    merged = dict(below)
    for key, value in above.items():
        lower = merged.get(key)
        both = isinstance(value, Mapping) and isinstance(lower, Mapping)
        merged[key] = _merged(lower, value) if both else value  # type: ignore[arg-type]
    return merged
