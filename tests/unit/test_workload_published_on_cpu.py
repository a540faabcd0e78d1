"""What published programs run in on a node without GPUs; they themselves: integration tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "workloads/published_on_cpu"
# As TensorFlow's and MXNet's programs import DALI and derive their pipelines.
IMPORTS = """
from nvidia import dali
import nvidia.dali.plugin.tf as dali_tf
from nvidia.dali.pipeline import Pipeline
import nvidia.dali.ops as ops
import nvidia.dali.types as types
from nvidia.dali.plugin.mxnet import DALIClassificationIterator

class HybridPipe(dali.pipeline.Pipeline):
    def __init__(self, layout=types.NCHW):
        super().__init__(2, 1, 0, seed=7)
"""


def run(*words, **environment):
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": str(FOLDER), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_dali_can_be_imported_and_a_pipeline_derived():
    done = run("-c", IMPORTS)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("use", "error"),
    [
        ("HybridPipe()", "RuntimeError: there is no DALI on this node"),
        ("DALIClassificationIterator([], 1)", "RuntimeError: there is no DALI on this node"),
        ("ops.CoinFlip(probability=0.5)", "AttributeError"),
        ("dali_tf.DALIIterator()", "AttributeError"),
    ],
)
def test_nothing_of_dali_can_be_used(use, error):
    done = run("-c", f"{IMPORTS}\n{use}")
    assert done.returncode != 0
    assert error in done.stderr


def test_a_program_runs_in_a_folder_that_is_removed_after_the_repeat(tmp_path):
    program = tmp_path / "program/train.py"
    program.parent.mkdir()
    (program.parent / "beside.py").write_text("NAME = 'beside'\n")
    program.write_text(
        "import os, sys, beside\nprint(os.getcwd(), sys.argv[1:], beside.NAME, __name__)\n"
    )
    done = run(FOLDER / "start.py", program, "--a=1", SCALEBENCH_RUN=str(tmp_path / "r50_1"))
    assert done.stdout.split("\n")[0] == f"{tmp_path}/r50_1.files/output ['--a=1'] beside __main__"


def test_a_program_that_fails_fails(tmp_path):
    (tmp_path / "train.py").write_text("raise SystemExit(3)\n")
    done = run(FOLDER / "start.py", tmp_path / "train.py", SCALEBENCH_RUN=str(tmp_path / "run"))
    assert done.returncode == 3
