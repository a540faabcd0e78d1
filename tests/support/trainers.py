"""Run the trainers in workloads/ with an interpreter that has their framework.

To import one takes 1.5 to 3.5 s of CPU time, more than most of the trainings in tests. `fork` runs
a program in a fork of a process that has imported it; `run` begins from nothing, as on a node.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import json
import os
import socket
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "workloads"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
LONG = pytest.mark.skipif(
    not os.environ.get("SCALEBENCH_LONG_TESTS"), reason="runs with SCALEBENCH_LONG_TESTS=1"
)


# Between those of local_nodes.py and those that Linux gives to connections, which could be given
# away before a program listens there. Another process of tests begins elsewhere.
_PORTS = range(22200, 28900)
_NEXT = itertools.count(os.getpid() * 101)


def free_port(address: str) -> int:
    """Return a port that nothing on this machine listens on at an address; each time another."""
    for number in itertools.islice(_NEXT, len(_PORTS)):
        port = _PORTS[number % len(_PORTS)]
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((address, port))
            return port
    raise RuntimeError(f"no port from {_PORTS[0]} to {_PORTS[-1]} is free at {address}")


@functools.cache
def interpreter(benchmark: str, module: str, name: str = "") -> str:
    """Return an interpreter with `module` that playbooks/provision.yml installed; skip without one.

    :param name: the framework set it must belong to; empty for any set of the module.
    """
    for python in sorted(ROOT.glob(f".state/venvs/{name or module + '*'}/bin/python")):
        look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)"
        if subprocess.run([python, "-c", look], check=False).returncode == 0:
            return str(python)
    pytest.skip(
        f"no {module}: run ansible-playbook playbooks/provision.yml -e benchmark={benchmark}"
    )


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in workloads/, with one thread per rank."""
    return subprocess.run(
        command,
        cwd=FOLDER,
        env={**os.environ, **ONE_THREAD, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


# What a trainer imports first, by the name of its framework. MXNet starts threads in each fork.
IMPORTED = {
    "tensorflow": ("horovod.tensorflow",),
    "paddle": ("paddle",),
    "pytorch": (
        "torch.distributed.fsdp", "torch.distributed.tensor", "torch.nn.parallel",
    ),
}  # fmt: skip
# Read when a framework is loaded, before which its trainer sets it.
_AT_IMPORT = {"TF_CPP_MIN_LOG_LEVEL": "2"}


@functools.cache
def _starter(python: str, framework: str) -> subprocess.Popen[str]:
    """Return the process that has imported a framework and forks."""
    process = subprocess.Popen(
        [python, Path(__file__).with_name("forking_trainer.py"), *IMPORTED[framework]],
        cwd=FOLDER,
        env={**os.environ, **ONE_THREAD, **_AT_IMPORT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)
    return process


def fork(
    framework: str,
    command: Sequence[object],
    places: Sequence[Mapping[str, str]] = ({},),
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run a command in workloads/, a program or `-c` and its text behind the interpreter.

    :param places: the variables of each rank.
    """
    with tempfile.TemporaryDirectory() as temporary:
        own = {**os.environ, **ONE_THREAD, "TMPDIR": temporary, **environment}
        files = [Path(temporary, name) for name in ("out", "err")]
        for file in files:
            file.touch()
        python, *words = map(str, command)
        job = {
            "words": words,
            "environments": [{**own, **place} for place in places],
            **dict(zip(("out", "err"), map(str, files))),
        }
        process = _starter(python, framework)
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        status = int(process.stdout.readline())
        return subprocess.CompletedProcess(words, status, *(f.read_text() for f in files))


_SLOW_FEED = """\
import os, sys, time
from resnet50 import {framework}_training as training, train_{framework}
feed = training.make_feed
def slow(*options):
    for number, batch in enumerate(feed(*options)):
        # Not the first, which is made before the clock starts.
        if number and os.environ["{rank}"] == "1":
            time.sleep(1)
        yield batch
training.make_feed = slow
sys.stdout.reconfigure(line_buffering=True)
sys.exit(train_{framework}.main())
"""


def slow_feed(folder: Path, framework: str, rank: str) -> str:
    """Write the ResNet-50 trainer of a framework, whose rank 1 gets each batch a second late.

    :param rank: the variable that has a rank's number.
    :returns: its path; it needs workloads/ in PYTHONPATH.
    """
    program = folder / "slow.py"
    program.write_text(_SLOW_FEED.format(framework=framework, rank=rank))
    return str(program)


def median_difference(first: dict, second: dict) -> float:
    """Return how much longer one rank waits at a step than another, in seconds.

    The first step does not count: its batch is not late, and the ranks trace their graphs in it.
    """
    waits = zip(first["wait_seconds"][1:], second["wait_seconds"][1:], strict=True)
    return statistics.median(one - other for one, other in waits)


def facts(text: str, kind: str) -> dict:
    """Return the facts in the first line of a kind (header, end, error)."""
    return json.loads(text.split(f"[scalebench] {kind} ", 1)[1].splitlines()[0])


def folders_of_images(data_dir: Path, part: str = "train") -> Path:
    """Write two classes with four images of noise each; return the folder of the classes."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow to write images")
    for name in ("ant", "bee"):
        folder = data_dir / "images" / part / name
        folder.mkdir(parents=True)
        for index in range(4):
            image.effect_noise((50, 40), 64).convert("RGB").save(folder / f"{index}.png")
    return data_dir / "images" / part
