"""The evidence in plan.json: the plan's checksum, the commit, and the versions that made it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.release import __version__ as ansible_core

__all__ = ["controller_facts", "plan_sha256"]

PROJECT = Path(__file__).resolve().parents[6]


def controller_facts(project: Path = PROJECT) -> dict[str, Any]:
    """Return ``ansible_core``, ``python``, and in a checkout ``commit`` and ``dirty``.

    ``dirty`` is whether files differ from the commit or are not in it. Both are absent without
    git, or where the project is not a checkout of its own.
    """
    facts: dict[str, Any] = {
        "ansible_core": ansible_core,
        "python": platform.python_version(),
    }
    lines = _git(project, "rev-parse", "--show-toplevel", "HEAD").splitlines()
    # A project unpacked inside another checkout does not have that checkout's commit.
    if len(lines) == 2 and Path(lines[0]) == project:
        facts.update(commit=lines[1], dirty=bool(_git(project, "status", "--porcelain")))
    return facts


def _git(project: Path, *arguments: str) -> str:
    """Return the output of git; empty if it is not installed or fails."""
    # Git reads no checkout of another user unless it is named. What could do harm in its
    # configuration could do so in these plugins, which are run from there already.
    command = ["git", "-c", f"safe.directory={project}", "-C", str(project), *arguments]
    # In a hook they name the repository of the hook.
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command, env=own, capture_output=True, text=True, timeout=30, check=False
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def plan_sha256(plan: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a plan's options and cells, in hexadecimal.

    Estimates and the state of the nodes are not included: the same matrix on the same nodes has
    the same checksum at any time and load.

    :param plan: as ``plan.build`` returns it, in plain data.
    """
    cells = [
        {key: cell[key] for key in cell if key != "estimate_seconds"} for cell in plan["cells"]
    ]
    essence = {"options": plan["options"], "cells": cells}
    text = json.dumps(essence, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
