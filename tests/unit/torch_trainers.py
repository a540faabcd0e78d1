"""Run trainers by an interpreter that has PyTorch, and read what they print."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile

import pytest
import trainers
from trainers import FOLDER, ROOT, facts, free_port  # noqa: F401 (for who imports this)

NO_TORCH = "no torch: set SCALEBENCH_FRAMEWORK_PYTHON or run playbooks/provision.yml"
OWN = {"GLOO_SOCKET_IFNAME": "lo"}


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
        pytest.skip(NO_TORCH)
    return interpreter()


def places(ranks: int) -> list[dict[str, str]]:
    """Return the variables that torchrun would set for the ranks of one node."""
    if ranks == 1:
        return [{}]
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port("127.0.0.1"))}
    sizes = dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), str(ranks))
    return [
        {**meeting, **sizes, **dict.fromkeys(("RANK", "LOCAL_RANK"), str(rank))}
        for rank in range(ranks)
    ]


def fork(*words: object, ranks: int = 1, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program, or `-c` and its text, on so many ranks, which need no torchrun."""
    if not interpreter():
        pytest.skip(NO_TORCH)
    return trainers.fork("pytorch", [interpreter(), *words], places(ranks), **OWN, **variables)


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command whose interpreter begins from nothing, as that of torchrun."""
    # torchrun leaves the folder of its logs.
    with tempfile.TemporaryDirectory() as temporary:
        return trainers.run(command, **OWN, TMPDIR=temporary)


def losses(text: str) -> list[float]:
    return [float(line.split()[5]) for line in text.splitlines() if line.startswith("iteration ")]
