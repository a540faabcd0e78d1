"""scripts/gpu-check for real, on the CPU of this machine."""

import json
import os
import signal
import subprocess
import tarfile

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import (
    descendants,
    read_process,
)
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
        arguments(part, tmp_path, only), capture_output=True, text=True, check=False,
        env={**os.environ, "HOME": "/proc"},  # as in a container, where no home can be written
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    assert done.stdout.rstrip().endswith(str(archive))
    with tarfile.open(archive) as tar:
        (name,) = [name for name in tar.getnames() if name.endswith("summary.json")]
        outcomes = json.load(tar.extractfile(name))
    counts = [outcome["verdict"] for outcome in outcomes]
    assert (counts.count("passed"), counts.count("FAILED")) == (passed, 0)
    assert all(outcome["words"] for outcome in outcomes)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_an_interruption_ends_everything_and_leaves_the_archive(tmp_path, number):
    begin = ["env", "--default-signal=HUP,INT"]  # nohup and background jobs ignore them
    process = subprocess.Popen(
        [*begin, *arguments("A", tmp_path, "sampler")], stdout=subprocess.PIPE, text=True
    )
    wait_until(lambda: list(tmp_path.rglob("*sampler.txt")) and descendants(process.pid))
    started = [one.pid for one in descendants(process.pid)]
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    # Much sooner than the command ends by itself.
    wait_until(lambda: not any(one and one.alive for one in map(read_process, started)), patience=5)
    if number == signal.SIGKILL:
        return
    assert process.returncode == 130, out
    assert "interrupted" in out
    assert list(tmp_path.glob("*.tar.gz"))


@pytest.mark.parametrize(
    ("words", "environment", "problem"),
    [
        (["A", "--python", "/usr/bin/false"], {}, "--python /usr/bin/false: this needs a Python"),
        (["C", "--only", "loops"], {}, "--only: no trial of C has loops in its name"),
        (["C", "--output", "/proc/none"], {}, "name a folder that you may write to"),
        (["A", "--device", "gpu"], {"CUDA_VISIBLE_DEVICES": "1"}, "the playbooks use GPU 0"),
    ],
)
def test_a_wrong_call_is_refused_with_the_reason(tmp_path, words, environment, problem):
    done = subprocess.run(
        [*arguments(words[0], tmp_path), *words[1:]],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 2
    assert problem in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_part_in_which_nothing_passes_is_no_success(tmp_path):
    assert subprocess.call(arguments("C", tmp_path, "DALI")) == 3
