"""A rank's place and host, and the hyperparameters that all trainers share."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from common.ranks import Place, has_code_for, peak_resident_mib, processor_name
from resnet50.recipe import header_facts, learning_rate

FOLDER = Path(__file__).parents[2] / "workloads"
# torch.cuda.get_arch_list() of PyTorch 2.13.0 for CUDA 12.6 and 13.0 on x86-64.
CU126 = "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"
CU130 = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"

OPTIONS = Namespace(
    precision="fp32",
    batch_size=4,
    image_size=32,
    data="synthetic",
    warmup=1,
    iterations=2,
    threads=1,
    learning_rate=None,
    seed=1,
)


def test_the_node_is_named_as_in_the_inventory(monkeypatch):
    monkeypatch.setenv("SCALEBENCH_NODE", "node3")
    facts = Place(rank=5, world_size=8, local_rank=1, local_size=4).facts()
    assert (facts["rank"], facts["local_rank"], facts["node"]) == (5, 1, "node3")


def test_the_header_counts_nodes_and_images():
    facts = header_facts(OPTIONS, Place(rank=0, world_size=8, local_rank=0, local_size=4))
    assert (facts["nodes"], facts["devices_per_node"], facts["global_batch_size"]) == (2, 4, 32)
    assert facts["learning_rate"] == pytest.approx(0.032)


def test_a_given_rate_is_not_scaled():
    assert learning_rate(Namespace(learning_rate=0.5, batch_size=4), 8) == 0.5


def test_a_rank_ends_with_its_parent():
    code = (
        "import os, signal, sys, time\n"
        "from common.ranks import end_with_parent\n"
        "read, write = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    end_with_parent()\n"
        "    os.write(write, b'.')\n"
        "    time.sleep(60)\n"
        "os.read(read, 1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    # The child holds the pipe of our standard output: it closes when the child has ended too.
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=FOLDER, capture_output=True, timeout=30, check=False
    )
    assert ended.returncode == -9


def test_memory_is_in_mib_and_the_processor_has_a_name():
    assert 1 < peak_resident_mib() < 1 << 20
    assert processor_name()


@pytest.mark.parametrize(
    ("capability", "architectures", "runs"),
    [
        ((7, 0), CU126, True),
        ((7, 0), CU130, False),
        ((9, 0), CU130, True),
        ((8, 9), CU126, True),  # by the binary for 8.6
        ((7, 2), CU126, True),
        ((8, 0), "sm_86", False),
        ((10, 0), CU126, False),
        ((10, 0), CU126 + " compute_90", True),
        ((8, 9), "compute_90", False),
        ((9, 0), "sm_90a", True),
        ((9, 3), "sm_90a", False),
        ((10, 0), "compute_90a", False),
        ((10, 3), "sm_100f", True),
        ((7, 0), "", True),  # the library tells nothing
    ],
)
def test_which_gpu_code_runs_on_a_device(capability, architectures, runs):
    assert has_code_for(capability, architectures.split()) is runs
