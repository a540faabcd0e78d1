"""Run trainers by an interpreter that has PyTorch, and read what they print.

To import PyTorch takes 1.6 s of CPU time, more than most of the trainings here. `fork` runs a
program in a fork of a process that has imported it; `run` begins from nothing, as on a node.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from trainers import free_port

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "workloads"
NO_TORCH = "no torch: set SCALEBENCH_FRAMEWORK_PYTHON or run playbooks/provision.yml"
OWN = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


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


@functools.cache
def starter() -> subprocess.Popen[str]:
    """Return the process that has imported PyTorch and forks."""
    if not interpreter():
        pytest.skip(NO_TORCH)
    process = subprocess.Popen(
        [interpreter(), Path(__file__).with_name("forking_torch.py")],
        cwd=FOLDER,
        env={**os.environ, **OWN},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)
    return process


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
    with tempfile.TemporaryDirectory() as temporary:
        own = {**os.environ, **OWN, "TMPDIR": temporary, **variables}
        files = [Path(temporary, name) for name in ("out", "err")]
        for file in files:
            file.touch()
        job = {
            "words": [str(word) for word in words],
            "environments": [{**own, **place} for place in places(ranks)],
            **dict(zip(("out", "err"), map(str, files))),
        }
        process = starter()
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        status = int(process.stdout.readline())
        return subprocess.CompletedProcess(job["words"], status, *(f.read_text() for f in files))


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command whose interpreter begins from nothing, as that of torchrun."""
    # torchrun leaves the folder of its logs.
    with tempfile.TemporaryDirectory() as temporary:
        return subprocess.run(
            command,
            cwd=FOLDER,
            env={**os.environ, **OWN, "TMPDIR": temporary},
            capture_output=True,
            text=True,
            check=False,
        )


def facts(text: str, kind: str) -> dict:
    return json.loads(text.split(f"[scalebench] {kind} ", 1)[1].splitlines()[0])


def losses(text: str) -> list[float]:
    return [float(line.split()[5]) for line in text.splitlines() if line.startswith("iteration ")]
