"""The trainer's command line: bad values end before PyTorch is even imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.options import default_threads
from resnet50.recipe import check_sizes, image_parser

FOLDER = Path(__file__).parents[2] / "workloads"
TRAINER = FOLDER / "resnet50/train_pytorch.py"


def call(
    *arguments: str, program: Path = TRAINER, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, program, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--batch-size", "0"], "--batch-size: 0 is not at least 1"),
        (["--batch-size", "4.5"], "--batch-size: '4.5' is not an integer"),
        (["--iterations", "-1"], "--iterations: -1 is not at least 1"),
        (["--warmup", "-1"], "--warmup: -1 is not at least 0"),
        (["--threads", "0"], "--threads: 0 is not at least 1"),
        (["--learning-rate", "0"], "--learning-rate: 0 is not above 0"),
        (["--learning-rate", "nan"], "--learning-rate: nan is not above 0"),
        (["--learning-rate", "fast"], "--learning-rate: 'fast' is not a number"),
        (["--precision", "fp8"], "--precision: invalid choice: 'fp8'"),
        (["--compile", "--cuda-graphs"], "choose one"),
        (["--data-backend", "dali"], "--data-backend dali needs --data real"),
        (["--batch-size", "1"], "raise the batch size to 2 or the image size to 33"),
        (["--data", "real"], "--data real needs --data-dir"),
        (["--data-dir", "."], "--data-dir is only read with --data real"),
        (["--workers", "2"], "--workers is only read with --data real"),
        (["--data", "real", "--data-dir", "/nowhere"], "/nowhere/images/train is not a folder"),
        (["--target-accuracy", "50"], "only read with --mode train_and_evaluate"),
        (["--epochs", "10"], "--epochs is only read with --mode train_and_evaluate"),
        (
            ["--mode", "train_and_evaluate", "--iterations", "100"],
            "--iterations is only read with --mode train",
        ),
        (["--target-accuracy", "101"], "--target-accuracy: 101 is above 100 percent"),
        (["--mode", "train_and_evaluate"], "needs --data real: noise cannot be learnt"),
    ],
)
def test_a_bad_value_is_named(arguments, words):
    ended = call(*arguments)
    assert ended.returncode == 2
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("option", ["threads", "collective-timeout"])
def test_an_mpi_library_reads_no_option_of_torch(option):
    ended = call("--library=mpi", f"--{option}=1", program=FOLDER / "collectives/measure.py")
    assert ended.returncode == 2
    assert f"--{option} is only read with --library=torch" in ended.stderr


def test_too_few_images_for_the_global_batch_are_refused(tmp_path):
    (tmp_path / "images/train/ant").mkdir(parents=True)
    (tmp_path / "images/train/ant/1.png").touch()
    ended = call("--data", "real", "--data-dir", str(tmp_path), WORLD_SIZE="2")
    assert "has 1 training images, fewer than the global batch of 8" in ended.stderr


def test_help_states_options_and_defaults():
    text = " ".join(call("--help").stdout.split())
    assert "--batch-size N" in text
    assert "--workers N reader processes per rank (default: 2)" in text
    assert "(default: 20)" in text
    assert "(default: None)" not in text


TRAIN = """
import os, sys, types
train = lambda *_: print(os.environ.get("NVIDIA_TF32_OVERRIDE"))
sys.modules["paddle"] = types.SimpleNamespace(__version__="3.3.1")
sys.modules["resnet50.{0}_training"] = types.SimpleNamespace(train=train)
from resnet50.train_{0} import main
sys.exit(main())
"""


@pytest.mark.parametrize("framework", ["tensorflow", "mxnet", "paddle", "oneflow"])
@pytest.mark.parametrize(("precision", "override"), [("fp32", "0"), ("amp", "None")])
def test_fp32_is_not_computed_in_tf32(framework, precision, override):
    environment = {k: v for k, v in os.environ.items() if k != "NVIDIA_TF32_OVERRIDE"}
    ended = subprocess.run(
        [sys.executable, "-c", TRAIN.format(framework), f"--precision={precision}"],
        cwd=FOLDER,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, override), ended.stderr


@pytest.mark.parametrize(("batch", "size"), [(2, 1), (2, 32), (1, 33), (1, 224)])
def test_sizes_with_two_values_per_channel_pass(batch, size):
    parser = image_parser("")
    options = parser.parse_args([f"--batch-size={batch}", f"--image-size={size}"])
    check_sizes(parser, options)


@pytest.mark.parametrize(
    ("value", "threads"),
    [(None, 1), ("3", 3), ("0", 1), ("2,1", 1)],
)
def test_threads_default_to_omp_num_threads(value, threads):
    environment = {} if value is None else {"OMP_NUM_THREADS": value}
    assert default_threads(environment) == threads
