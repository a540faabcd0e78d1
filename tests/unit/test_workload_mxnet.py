"""The MXNet trainer itself, run by an interpreter that has MXNet."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from trainers import FOLDER, ROOT, facts, folders_of_images, interpreter, run

SHORT = ("--warmup=1", "--iterations=3", "--device=cpu")


@pytest.fixture
def python() -> str:
    return interpreter("mxnet_ngc", "mxnet")


def test_the_model_is_resnet50_version_1_5(python):
    ended = run(
        [
            python,
            "-c",
            "from mxnet_resnet50 import parameter_count, resnet50, Bottleneck\n"
            "for layout in ('NCHW', 'NHWC'):\n"
            "    model = resnet50(layout)\n"
            "    model.initialize()\n"
            "    print(parameter_count(model))\n"
            "for block in model:\n"
            "    if isinstance(block, Bottleneck):\n"
            "        print(*(block.body[at]._kwargs['stride'][0] for at in (0, 3, 6)))\n",
        ]
    )
    counts, strides = ended.stdout.splitlines()[:2], ended.stdout.splitlines()[2:]
    assert counts == ["25557032"] * 2, ended.stderr
    assert len(strides) == 3 + 4 + 6 + 3
    assert [index for index, stride in enumerate(strides) if stride == "1 2 1"] == [3, 7, 13]
    assert set(strides) == {"1 1 1", "1 2 1"}


def test_one_rank_learns_and_its_log_is_speedometers(python):
    ended = run([python, "train_mxnet.py", *SHORT])
    assert (ended.returncode, ended.stderr) == (0, "")
    reading = logs.read(ended.stdout)
    assert (reading["reader"], reading["ending"]["kind"]) == ("mxnet_speedometer", "complete")
    identity = reading["identity"]
    assert (identity["parameters"], identity["world_size"]) == (25557032, 1)
    assert [one["step"] for one in reading["observations"]] == list(range(4))
    read = log_facts(reading, parameters={"warmup": 1, "iterations": 3})
    assert read["count"] == 3
    # Batch by batch: the clock and the printed speeds say the same.
    assert read["wall_clock_throughput"] == pytest.approx(read["harmonic_throughput"], rel=0.02)
    assert read["loss"]["last"] < read["loss"]["first"] - 1


def test_workers_of_the_key_value_store_end_with_the_same_weights(python):
    """Now and then they do not (docs/frameworks.md): then the trainer must say so itself."""
    for _ in range(4):
        outputs, leader, done = two_workers_of_the_store(python)
        if done:
            break
        assert facts(leader, "error")["kind"] == "weights_differ", outputs + leader
    assert done, leader
    assert outputs == ""
    assert '"rank":1,"local_rank":0,"node":"node2"' in leader
    header = facts(leader, "header")
    assert (header["global_batch_size"], header["nodes"], header["backend"]) == (8, 2, "dist_sync")
    assert facts(leader, "end")["weights_equal"] is True


def two_workers_of_the_store(python: str) -> tuple[str, str, bool]:
    """Return all that should not be printed, the first worker's output, whether both ended well."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.2", 0))
        port = str(probe.getsockname()[1])
    common = {
        "DMLC_PS_ROOT_URI": "127.0.0.2",
        "DMLC_PS_ROOT_PORT": port,
        "DMLC_NUM_WORKER": "2",
        "DMLC_NUM_SERVER": "1",
        "DMLC_INTERFACE": "lo",
        "DMLC_NODE_HOST": "127.0.0.2",
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
    }

    def start(role: str, rank: int = 0) -> subprocess.Popen[str]:
        trains = role == "worker"
        node = {"DMLC_NODE_HOST": f"127.0.0.{rank + 2}", "SCALEBENCH_NODE": f"node{rank + 1}"}
        return subprocess.Popen(
            [python, *(["train_mxnet.py", *SHORT] if trains else ["-c", "import mxnet"])],
            cwd=FOLDER,
            env={**os.environ, **common, "DMLC_ROLE": role, "RANK": str(rank), **node},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    served = [start("scheduler"), start("server")]
    # The one that connects first is rank 0 of the store; the one that prints is ours.
    workers = [start("worker", 1), start("worker", 0)]
    (other, other_errors), (leader, errors) = [worker.communicate() for worker in workers]
    done = [worker.returncode for worker in workers] == [0, 0]
    for process in served:
        if not done:  # they wait for workers for ever
            process.terminate()
        process.communicate()
    return (other + other_errors + errors) if done else errors, leader, done


def test_amp_reads_real_images(python, tmp_path):
    folder = folders_of_images(tmp_path)
    real = (*SHORT, "--precision=amp", "--data=real", f"--data-dir={tmp_path}", "--workers=1")
    ended = run([python, "train_mxnet.py", *real])
    assert ended.returncode == 0, ended.stderr
    assert facts(ended.stdout, "header")["autocast_dtype"] == "bfloat16"
    assert "Epoch[1] Batch [1-1]" in ended.stdout
    (folder / "bee/1.png").write_bytes(b"no image")
    ended = run([python, "train_mxnet.py", *real])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["detail"].startswith(f"cannot decode {folder}/bee/1.png")


@pytest.mark.parametrize(
    ("backend", "package_set"), [("recordio", "mxnet"), ("dali", "mxnet_dali")]
)
def test_records_are_read_by_mxnet_or_by_dali(backend, package_set, tmp_path):
    python = str(ROOT / f".state/venvs/{package_set}/bin/python")
    if not Path(python).exists():
        pytest.skip(f"no {package_set}: run playbooks/provision.yml -e benchmark=mxnet_ngc")
    make = [ROOT / "workloads/dataset/make_small.py", tmp_path / "small", "--train=1"]
    made = run([python, *map(str, make), "--validation=1", "--size=40"])
    assert made.returncode == 0, made.stderr
    command = [python, "train_mxnet.py", *SHORT, "--data=real", f"--data-dir={tmp_path}/small"]
    ended = run([*command, f"--data-backend={backend}"])
    assert ended.returncode == 0, ended.stderr
    assert logs.read(ended.stdout)["identity"]["data_backend"] == backend
    assert "Epoch[1] Batch [1-1]" in ended.stdout
    (tmp_path / "small/recordio/train.rec").unlink()
    ended = run([*command, f"--data-backend={backend}"])
    assert ended.returncode == 1
    error = facts(ended.stdout, "error")
    assert (error["kind"], "small/recordio" in error["detail"]) == ("bad_data", True)


def test_a_loss_that_is_no_number_ends_the_run(python):
    ended = run([python, "train_mxnet.py", *SHORT, "--learning-rate=1e30"])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "nan_loss"
    assert logs.read(ended.stdout)["ending"]["kind"] == "nan_loss"
    assert "[scalebench] end" not in ended.stdout


@pytest.mark.parametrize("options", [["--device=gpu"], ["--device=cpu", "--precision=fp16"]])
def test_a_gpu_that_is_needed_and_not_there_is_said(python, options):
    if options == ["--device=gpu"] and Path("/dev/nvidia0").exists():
        pytest.skip("there is a GPU")
    ended = run([python, "train_mxnet.py", *options])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "no_device"
