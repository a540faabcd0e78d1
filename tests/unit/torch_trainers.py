"""Run trainers by an interpreter that has PyTorch, and read what they print."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "workloads"


@functools.cache
def interpreter() -> str:
    """Return a Python that has torch; empty if there is none."""
    given = os.environ.get("SCALEBENCH_FRAMEWORK_PYTHON")
    candidates = (
        [given] if given else [sys.executable, *ROOT.glob(".state/venvs/pytorch*/bin/python")]
    )
    for python in candidates:
        look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
        if subprocess.run([python, "-c", look], check=False).returncode == 0:
            return str(python)
    return ""


@pytest.fixture
def python() -> str:
    if not interpreter():
        pytest.skip("no torch: set SCALEBENCH_FRAMEWORK_PYTHON or run playbooks/provision.yml")
    return interpreter()


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    # torchrun leaves the folder of its logs.
    with tempfile.TemporaryDirectory() as temporary:
        own = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "TMPDIR": temporary}
        return subprocess.run(
            command,
            cwd=FOLDER,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )


def facts(text: str, kind: str) -> dict:
    return json.loads(text.split(f"[scalebench] {kind} ", 1)[1].splitlines()[0])


def losses(text: str) -> list[float]:
    return [float(line.split()[5]) for line in text.splitlines() if line.startswith("iteration ")]
