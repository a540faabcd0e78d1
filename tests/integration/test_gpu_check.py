"""scripts/gpu-check for real, on the CPU of this machine."""

import json
import os
import signal
import subprocess
import tarfile

import pytest
from local_nodes import ROOT, wait_until
from trainers import interpreter

COMMAND = [str(ROOT / "scripts/gpu-check")]


def arguments(part, output, only=""):
    python = interpreter("pytorch", "torch", "pytorch")
    return [
        *COMMAND, part, "--device", "cpu", "--python", python, "--output", str(output),
        "--only", only,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("part", "only", "passed"),
    [
        ("A", "facts,sampler,fp32", 5),
        ("B", "provision,kill", 2),
        ("C", "", 4),
    ],
)
def test_a_part_passes_and_leaves_one_archive(tmp_path, part, only, passed):
    done = subprocess.run(
        arguments(part, tmp_path, only), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    assert done.stdout.rstrip().endswith(str(archive))
    with tarfile.open(archive) as tar:
        (name,) = [name for name in tar.getnames() if name.endswith("summary.json")]
        outcomes = json.load(tar.extractfile(name))
    counts = [outcome["verdict"] for outcome in outcomes]
    assert (counts.count("passed"), counts.count("FAILED")) == (passed, 0)
    assert all(outcome["words"] for outcome in outcomes)


def test_an_interruption_ends_everything_and_leaves_the_archive(tmp_path):
    process = subprocess.Popen(
        arguments("A", tmp_path, "sampler"), stdout=subprocess.PIPE, text=True
    )
    below = f"/proc/{process.pid}/task/{process.pid}/children"
    wait_until(lambda: list(tmp_path.rglob("*sampler.txt")))
    with open(below) as children:
        started = children.read().split()
    assert started
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130, out
    assert "interrupted" in out
    assert list(tmp_path.glob("*.tar.gz"))
    assert not any(os.path.exists(f"/proc/{pid}") for pid in started)


def test_an_interpreter_without_pytorch_is_refused(tmp_path):
    done = subprocess.run(
        [*COMMAND, "A", "--python", "/usr/bin/false", "--output", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--python /usr/bin/false: this needs a Python with PyTorch" in done.stderr
