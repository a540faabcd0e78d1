"""TensorFlow and MXNet train from the record files of the small data set."""

from __future__ import annotations

import struct
import subprocess
import sys
from functools import partial

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from trainers import IMPORTED, ROOT, facts, fork, interpreter, run

pytest.importorskip("PIL", reason="needs Pillow to make the small set")
# The crops of one picture over and over, by epoch and rank.
CROPS = """
import sys, types
from pathlib import Path
import tensorflow.compat.v2 as tf
from common.ranks import Place
from resnet50 import tensorflow_data
tf.enable_v2_behavior()
options = types.SimpleNamespace(
    seed=1, data_dir=Path(sys.argv[1]), batch_size=8, workers=1, image_size=8
)
seen = set()
for rank in (0, 1):
    tf.random.set_seed(1)
    feed = tensorflow_data.from_records(options, Place(rank, 2, rank, 2), "NHWC")
    for epoch, _batch, images, _labels in feed:
        seen.add(images.numpy().tobytes())
        if epoch:
            break
print(len(seen))
"""
LENGTH = ("--warmup=1", "--batch-size=4", "--device=cpu", "--data=real", "--workers=1")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "small"
    maker = ROOT / "workloads/dataset/make_small.py"
    command = [sys.executable, maker, "--train=2", "--validation=1", "--size=32", folder]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    ("benchmark", "framework", "backend"),
    [("tensorflow_ngc", "tensorflow", "tfrecord"), ("mxnet_ngc", "mxnet", "recordio")],
)
def test_a_trainer_reads_records_of_its_framework(small, tmp_path, benchmark, framework, backend):
    trainer = (interpreter(benchmark, framework), f"resnet50/train_{framework}.py", *LENGTH)
    begin = partial(fork, framework) if framework in IMPORTED else run
    source = f"--data-backend={backend}"
    # 16 images are four batches: the sixth iteration is of the second epoch.
    ended = begin([*trainer, source, "--iterations=5", f"--data-dir={small}"])
    assert ended.returncode == 0, ended.stderr
    assert facts(ended.stdout, "header")["data_backend"] == backend
    reading = logs.read(ended.stdout)
    assert [seen["epoch"] for seen in reading["observations"]] == [0, 0, 0, 0, 1, 1]
    ended = begin([*trainer, source, "--iterations=5", f"--data-dir={tmp_path}"])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "bad_data"


def test_tensorflow_crops_differ_between_epochs_and_ranks(small, tmp_path):
    shard = next((small / "tfrecord").glob("train-*")).read_bytes()
    first = shard[: struct.unpack("<Q", shard[:8])[0] + 16]
    (tmp_path / "tfrecord").mkdir()
    for rank in range(2):
        (tmp_path / f"tfrecord/train-0000{rank}-of-00002").write_bytes(first * 8)
    ended = fork("tensorflow", [interpreter("tensorflow_ngc", "tensorflow"), "-c", CROPS, tmp_path])
    assert ended.stdout.strip() == "4", ended.stderr


def test_tensorflow_evaluates_after_each_epoch(small):
    python = interpreter("tensorflow_ngc", "tensorflow")
    mode = ("--mode=train_and_evaluate", "--epochs=2", "--target-accuracy=100")
    ended = fork(
        "tensorflow",
        [python, "resnet50/train_tensorflow.py", *LENGTH, *mode, f"--data-dir={small}"],
    )
    assert ended.returncode == 0, ended.stderr
    read = log_facts(logs.read(ended.stdout), parameters={"warmup": 1, "iterations": None})
    assert (read["reader"], read["count"]) == ("tensorflow_ngc_train", 7)
    training = read["time_to_train"]
    assert (training["epochs"], training["evaluations"], training["target_accuracy"]) == (2, 2, 100)
    assert facts(ended.stdout, "end")["iterations"] == 8
    rates = [float(line.split()[-1]) for line in ended.stdout.splitlines() if "DLL" in line]
    assert rates[0] > rates[-2] > rates[-1] == 0
