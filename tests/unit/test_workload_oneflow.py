"""The OneFlow trainer itself, run by an interpreter that has OneFlow."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from trainers import FOLDER, facts, folders_of_images, free_port, interpreter, run

SHORT = ("--warmup=1", "--iterations=4", "--device=cpu", "--batch-size=2")


@pytest.fixture
def python(monkeypatch, tmp_path) -> str:
    monkeypatch.setenv("GLOG_log_dir", str(tmp_path))  # else OneFlow logs to the working folder
    return interpreter("oneflow", "oneflow")


def test_the_model_is_resnet50_version_1_5(python):
    ended = run(
        [
            python,
            "-c",
            "from resnet50.oneflow_training import Bottleneck, ResNet50\n"
            "model = ResNet50()\n"
            "print(sum(weight.numel() for weight in model.parameters()))\n"
            "for block in model.modules():\n"
            "    if isinstance(block, Bottleneck):\n"
            "        print(*(block.main[at].stride[0] for at in (0, 3, 6)))\n",
        ]
    )
    count, *strides = [line for line in ended.stdout.splitlines() if line[:1].isdigit()]
    assert count == "25557032", ended.stderr
    assert [index for index, stride in enumerate(strides) if stride == "1 2 1"] == [3, 7, 13]
    assert len(strides) == 16


def test_the_smoothed_loss_is_the_cross_entropy_with_smoothed_labels(python):
    ended = run(
        [
            python,
            "-c",
            "import numpy as np\n"
            "import oneflow as flow\n"
            "from resnet50.oneflow_training import smoothed_loss\n"
            "scores = np.random.default_rng(1).standard_normal((3, 7)).astype(np.float32)\n"
            "labels = np.array([2, 0, 6], np.int32)\n"
            "wanted = np.full((3, 7), 0.1 / 7) + 0.9 * np.eye(7)[labels]\n"
            "logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))\n"
            "loss = smoothed_loss(flow.tensor(scores), flow.tensor(labels)).numpy()\n"
            "print('same', np.allclose(loss, -(wanted * logs).sum(1).mean(), atol=1e-5))\n",
        ]
    )
    assert "same True" in ended.stdout, ended.stderr


def test_two_nodes_learn_real_images_and_end_with_the_same_weights(python, tmp_path):
    folders_of_images(tmp_path)
    port = str(free_port("127.0.0.2"))
    real = ("--data=real", f"--data-dir={tmp_path}", "--workers=1")
    nodes = [
        subprocess.Popen(
            [python, FOLDER / "resnet50/train_oneflow.py", *SHORT, *real],
            env={
                **os.environ,
                **{"MASTER_ADDR": "127.0.0.2", "MASTER_PORT": port, "WORLD_SIZE": "2"},
                **{"RANK": str(rank), "LOCAL_RANK": str(rank), "NODE_SIZE": "1"},
                **{"SCALEBENCH_NODE": f"node{rank + 1}", "OMP_NUM_THREADS": "1"},
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    (leader, errors), (other, other_errors) = [node.communicate() for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], errors + other_errors
    assert "train: epoch" not in other
    assert '"rank":1,"local_rank":0,"node":"node2"' in leader
    reading = logs.read(leader)
    assert (reading["reader"], reading["identity"]["nodes"]) == ("oneflow", 2)
    assert reading["summary"]["weights_equal"] is True
    assert "train: epoch 2, iter 5" in leader


def test_one_rank_learns(python):
    ended = run([python, "resnet50/train_oneflow.py", *SHORT])
    assert ended.returncode == 0, ended.stderr
    loss = list(logs.read(ended.stdout)["observations"].column("loss"))
    assert loss[-1] < loss[0] - 1


def test_a_nan_loss_ends_the_run(python):
    ended = run([python, "resnet50/train_oneflow.py", *SHORT, "--learning-rate=1e30"])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "nan_loss"


@pytest.mark.parametrize("asked", ["--device=gpu", "--precision=amp"])
def test_options_that_need_a_gpu_fail_without_one(python, asked):
    ended = run([python, "-c", "import oneflow; assert oneflow.cuda.is_available()"])
    if ended.returncode == 0:
        pytest.skip("there is a GPU")
    ended = run([python, "resnet50/train_oneflow.py", *SHORT, asked])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "no_device"


def test_the_help_needs_no_oneflow():
    ended = run([sys.executable, "resnet50/train_oneflow.py", "--help"])
    assert ended.returncode == 0
    assert "needs a GPU" in ended.stdout


def test_a_batch_that_cannot_be_normalised_is_refused_without_oneflow():
    ended = run([sys.executable, "resnet50/train_oneflow.py", "--batch-size=1", "--image-size=32"])
    assert ended.returncode == 2
    assert "batch normalisation needs two" in ended.stderr
