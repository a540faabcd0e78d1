"""The PyTorch trainer itself, run by an interpreter that has PyTorch."""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "workloads"
SHORT = ("--warmup=1", "--iterations=5", "--device=cpu")


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
        pytest.skip("no torch: set SCALEBENCH_FRAMEWORK_PYTHON or run playbooks/provision.yml")
    return interpreter()


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, check=False
    )


def facts(text: str, kind: str) -> dict:
    return json.loads(text.split(f"[scalebench] {kind} ", 1)[1].splitlines()[0])


def losses(text: str) -> list[float]:
    return [float(line.split()[5]) for line in text.splitlines() if line.startswith("iteration ")]


def test_the_model_is_resnet50_version_1_5(python):
    ended = run(
        [
            python,
            "-c",
            "from resnet50.pytorch_training import Bottleneck, ResNet50\n"
            "model = ResNet50()\n"
            "print(sum(weight.numel() for weight in model.parameters()))\n"
            "for block in model.modules():\n"
            "    if isinstance(block, Bottleneck):\n"
            "        print(*(c.stride[0] for c in (block.conv1, block.conv2, block.conv3)))\n",
        ]
    )
    count, *strides = ended.stdout.splitlines()
    assert count == "25557032"
    assert len(strides) == 3 + 4 + 6 + 3
    assert [index for index, stride in enumerate(strides) if stride == "1 2 1"] == [3, 7, 13]
    assert set(strides) == {"1 1 1", "1 2 1"}


def test_row_major_sgd_equals_sgd(python):
    ended = run(
        [
            python,
            "-c",
            "import torch\n"
            "from resnet50.pytorch_training import RowMajorSGD\n"
            "def train(kind, **options):\n"
            "    torch.manual_seed(1)\n"
            "    weight = torch.nn.Parameter(torch.randn(6, 5, 3, 3).contiguous(\n"
            "        memory_format=torch.channels_last))\n"
            "    optimizer = kind([weight], 0.1, 0.9, weight_decay=0.01, **options)\n"
            "    for _ in range(3):\n"
            "        optimizer.zero_grad()\n"
            "        (weight * torch.randn(6, 5, 3, 3)).sum().backward()\n"
            "        optimizer.step()\n"
            "    return weight\n"
            "same = train(RowMajorSGD, fused=True), train(torch.optim.SGD, foreach=False)\n"
            "print(torch.allclose(*same))\n",
        ]
    )
    assert ended.stdout == "True\n", ended.stderr


def test_one_rank_learns_without_warnings(python):
    ended = run([python, "resnet50/train_pytorch.py", *SHORT])
    assert (ended.returncode, ended.stderr) == (0, "")
    header = facts(ended.stdout, "header")
    assert (header["parameters"], header["world_size"], header["backend"]) == (25557032, 1, None)
    assert losses(ended.stdout)[-1] < losses(ended.stdout)[0] - 1
    assert facts(ended.stdout, "end")["iterations"] == 6


def test_the_convolution_kernel_does_not_change_the_loss(python):
    first = [
        losses(
            run(
                [python, "resnet50/train_pytorch.py", "--warmup=0", "--iterations=1", kernel]
            ).stdout
        )[0]
        for kernel in ("--onednn", "--no-onednn")
    ]
    assert first[0] == pytest.approx(first[1], abs=1e-3)


def test_two_nodes_end_with_the_same_weights(python):
    with socket.socket() as probe:
        probe.bind(("127.0.0.2", 0))
        port = probe.getsockname()[1]
    command = [python, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
    command += ["--master-addr=127.0.0.2", f"--master-port={port}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    nodes = [
        subprocess.Popen(
            [*command, f"--node-rank={rank}", "resnet50/train_pytorch.py", *SHORT],
            cwd=FOLDER,
            env={**environment, "SCALEBENCH_NODE": f"node{rank + 1}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    (leader, leader_errors), (other, other_errors) = [node.communicate() for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], leader_errors + other_errors
    assert leader_errors + other == ""
    # The leader's agent may end, and its store with it, while the other still waits at the exit
    # barrier: torchrun reports it at length and succeeds.
    assert other_errors == "" or "Error waiting on exit barrier" in other_errors
    assert '"rank":1,"local_rank":0,"node":"node2"' in leader
    header = facts(leader, "header")
    assert (header["global_batch_size"], header["nodes"], header["backend"]) == (8, 2, "gloo")
    assert facts(leader, "end")["weights_equal"] is True


def test_amp_reads_real_images(python, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow to write images")
    if run([python, "-c", "import PIL"]).returncode != 0:
        pytest.skip(f"{python} has no Pillow")
    for name in ("ant", "bee"):
        folder = tmp_path / "images/train" / name
        folder.mkdir(parents=True)
        for index in range(4):
            image.effect_noise((50, 40), 64).convert("RGB").save(folder / f"{index}.png")
    real = (*SHORT, "--precision=amp", "--data=real", f"--data-dir={tmp_path}", "--workers=1")
    ended = run([python, "resnet50/train_pytorch.py", *real])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert facts(ended.stdout, "header")["autocast_dtype"] == "bfloat16"
    assert "iteration 6 epoch 2 " in ended.stdout
    broken = tmp_path / "images/train/bee/1.png"
    broken.write_bytes(b"no image")
    ended = run([python, "resnet50/train_pytorch.py", *real])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["detail"].startswith(f"cannot decode {broken}")


def test_a_nan_loss_ends_the_run(python):
    ended = run([python, "resnet50/train_pytorch.py", *SHORT, "--learning-rate=1e30"])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "nan_loss"
    assert "[scalebench] end" not in ended.stdout


def test_a_missing_gpu_is_reported(python):
    if run([python, "-c", "import torch; assert torch.cuda.is_available()"]).returncode == 0:
        pytest.skip("there is a GPU")
    ended = run([python, "resnet50/train_pytorch.py", "--device=gpu"])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "no_device"
