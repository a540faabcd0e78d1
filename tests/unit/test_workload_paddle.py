"""The Paddle trainer itself, run by an interpreter that has Paddle."""

from __future__ import annotations

import socket

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from trainers import (
    FOLDER,
    facts,
    folders_of_images,
    fork,
    interpreter,
    median_difference,
    run,
    slow_feed,
)

SHORT = ("--warmup=1", "--iterations=5", "--device=cpu")


@pytest.fixture
def python() -> str:
    return interpreter("paddle", "paddle", "paddle")


def losses(text: str) -> list[float]:
    return list(logs.read(text)["observations"].column("loss"))


def test_the_model_is_resnet50_version_1_5(python):
    ended = fork(
        "paddle",
        [
            python,
            "-c",
            "from resnet50.paddle_training import Bottleneck, ResNet50\n"
            "for layout in ('NCHW', 'NHWC'):\n"
            "    model = ResNet50(layout)\n"
            "    print(sum(w.size for w in model.parameters() if w.trainable))\n"
            "for block in model.sublayers():\n"
            "    if isinstance(block, Bottleneck):\n"
            "        print(*(block.main[at]._stride[0] for at in (0, 3, 6)))\n",
        ],
    )
    nchw, nhwc, *strides = ended.stdout.splitlines()
    assert nchw == nhwc == "25557032"
    assert [index for index, stride in enumerate(strides) if stride == "1 2 1"] == [3, 7, 13]
    assert len(strides) == 16
    assert set(strides) == {"1 1 1", "1 2 1"}


def test_one_rank_learns(python):
    ended = run([python, "resnet50/train_paddle.py", *SHORT])
    assert ended.returncode == 0, ended.stderr
    header = facts(ended.stdout, "header")
    assert (header["parameters"], header["world_size"], header["backend"]) == (25557032, 1, None)
    reading = logs.read(ended.stdout)
    assert reading["reader"] == "paddle_fluid"
    assert losses(ended.stdout)[-1] < losses(ended.stdout)[0] - 1
    assert reading["summary"]["iterations"] == 6


def test_ranks_wait_for_the_one_that_waits_for_its_batches(python, tmp_path):
    slow = slow_feed(tmp_path, "paddle", "PADDLE_TRAINER_ID")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = [python, "-m", "paddle.distributed.launch", f"--master=127.0.0.1:{port}"]
    launch += ["--nnodes=1", "--rank=0", "--host=127.0.0.1", "--nproc_per_node=2"]
    launch += [f"--log_dir={tmp_path}", slow, *SHORT]
    ended = run(launch, PYTHONPATH=str(FOLDER))
    assert ended.returncode == 0, ended.stderr
    waits = logs.read((tmp_path / "workerlog.0").read_text())["summary"]["waits"]
    first, second = waits
    assert [one["rank"] for one in waits] == [0, 1]
    assert second["input_seconds"] >= 1 > 2 * first["input_seconds"]
    assert median_difference(first, second) > 0.5
    assert all(one["core_wait_seconds"] >= 0 for one in waits)


def test_real_images_are_read_and_a_bad_one_is_named(python, tmp_path):
    folder = folders_of_images(tmp_path)
    real = ("--data=real", f"--data-dir={tmp_path}", "--workers=1", "--batch-size=2")
    ended = fork("paddle", [python, "resnet50/train_paddle.py", *SHORT, *real])
    assert ended.returncode == 0, ended.stderr
    assert "[Pass 1, train batch 5]" in ended.stdout
    (folder / "bee/1.png").write_bytes(b"no image")
    ended = fork("paddle", [python, "resnet50/train_paddle.py", *SHORT, *real])
    assert ended.returncode == 1
    error = facts(ended.stdout, "error")
    assert (error["kind"], error["rank"]) == ("bad_data", 0)
    assert error["detail"].startswith(f"cannot decode {folder}/bee/1.png")


def test_a_nan_loss_ends_the_run(python):
    ended = fork("paddle", [python, "resnet50/train_paddle.py", *SHORT, "--learning-rate=1e30"])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "nan_loss"
    assert "[scalebench] end" not in ended.stdout


@pytest.mark.parametrize("asked", ["--device=gpu", "--precision=amp"])
def test_options_that_need_a_gpu_fail_without_one(python, asked):
    look = "import paddle; assert paddle.device.cuda.device_count() > 0"
    if fork("paddle", [python, "-c", look]).returncode == 0:
        pytest.skip("there is a GPU")
    ended = fork("paddle", [python, "resnet50/train_paddle.py", *SHORT, asked])
    assert ended.returncode in (1, 2)
    error = facts(ended.stdout, "error")
    assert error["kind"] == "no_device"
    assert "GPU" in error["detail"]


@pytest.fixture
def python_of_1_8() -> str:
    return interpreter("paddle -e framework_version=1.8.5", "paddle", "paddle_seed")


def test_paddle_1_8_trains_the_same_model(python_of_1_8):
    ended = run([python_of_1_8, "resnet50/train_paddle.py", *SHORT])
    assert ended.returncode == 0, ended.stderr
    header = facts(ended.stdout, "header")
    assert (header["framework_version"], header["parameters"]) == ("1.8.5", 25557032)
    assert losses(ended.stdout)[-1] < losses(ended.stdout)[0] - 1


def test_paddle_1_8_detects_nan_scores(python_of_1_8):
    ended = run([python_of_1_8, "resnet50/train_paddle.py", *SHORT, "--learning-rate=1e30"])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "nan_loss"


def test_paddle_1_8_refuses_several_ranks(python_of_1_8):
    ended = run([python_of_1_8, "resnet50/train_paddle.py", *SHORT], WORLD_SIZE="2")
    assert ended.returncode == 1
    assert "as one rank on a CPU" in facts(ended.stdout, "error")["detail"]
