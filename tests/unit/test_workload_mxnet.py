"""The MXNet trainer itself, run by an interpreter that has MXNet."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from trainers import ROOT, facts, folders_of_images, interpreter, run

SHORT = ("--warmup=1", "--iterations=3", "--device=cpu")


@pytest.fixture
def python() -> str:
    return interpreter("mxnet_ngc", "mxnet")


def test_the_model_is_resnet50_version_1_5(python):
    ended = run(
        [
            python,
            "-c",
            "from resnet50.mxnet_training import parameter_count, resnet50, Bottleneck\n"
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


def test_one_rank_learns_and_prints_as_speedometer(python):
    ended = run([python, "resnet50/train_mxnet.py", *SHORT])
    assert (ended.returncode, ended.stderr) == (0, "")
    reading = logs.read(ended.stdout)
    assert (reading["reader"], reading["ending"]["kind"]) == ("mxnet_speedometer", "complete")
    identity = reading["identity"]
    assert (identity["parameters"], identity["world_size"]) == (25557032, 1)
    assert [seen["step"] for seen in reading["observations"]] == list(range(4))
    read = log_facts(reading, parameters={"warmup": 1, "iterations": 3})
    assert read["count"] == 3
    # One line per batch: the clock and the printed speeds agree.
    assert read["wall_clock_throughput"] == pytest.approx(read["harmonic_throughput"], rel=0.02)
    assert read["loss"]["last"] < read["loss"]["first"] - 1


def test_amp_without_avx512_is_refused(python):
    ended = run(
        [python, "resnet50/train_mxnet.py", *SHORT, "--precision=amp"], DNNL_MAX_CPU_ISA="AVX2"
    )
    assert ended.returncode == 1
    error = facts(ended.stdout, "error")
    assert (error["kind"], "AVX-512" in error["detail"]) == ("no_device", True)


def test_amp_reads_real_images(python, tmp_path):
    if "avx512bw" not in Path("/proc/cpuinfo").read_text().split():
        pytest.skip("no AVX-512, without which MXNet has no bfloat16")
    folder = folders_of_images(tmp_path)
    real = (*SHORT, "--precision=amp", "--data=real", f"--data-dir={tmp_path}", "--workers=1")
    ended = run([python, "resnet50/train_mxnet.py", *real])
    assert ended.returncode == 0, ended.stderr
    assert facts(ended.stdout, "header")["autocast_dtype"] == "bfloat16"
    assert "Epoch[1] Batch [1-1]" in ended.stdout
    (folder / "bee/1.png").write_bytes(b"no image")
    ended = run([python, "resnet50/train_mxnet.py", *real])
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
    command = [
        python,
        "resnet50/train_mxnet.py",
        *SHORT,
        "--data=real",
        f"--data-dir={tmp_path}/small",
    ]
    ended = run([*command, f"--data-backend={backend}"])
    assert ended.returncode == 0, ended.stderr
    assert logs.read(ended.stdout)["identity"]["data_backend"] == backend
    assert "Epoch[1] Batch [1-1]" in ended.stdout
    (tmp_path / "small/recordio/train.rec").unlink()
    ended = run([*command, f"--data-backend={backend}"])
    assert ended.returncode == 1
    error = facts(ended.stdout, "error")
    assert (error["kind"], "small/recordio" in error["detail"]) == ("bad_data", True)


def test_a_nan_loss_ends_the_run(python):
    ended = run([python, "resnet50/train_mxnet.py", *SHORT, "--learning-rate=1e30"])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "nan_loss"
    assert logs.read(ended.stdout)["ending"]["kind"] == "nan_loss"
    assert "[scalebench] end" not in ended.stdout


@pytest.mark.parametrize("options", [["--device=gpu"], ["--device=cpu", "--precision=fp16"]])
def test_a_missing_gpu_is_reported(python, options):
    if options == ["--device=gpu"] and Path("/dev/nvidia0").exists():
        pytest.skip("there is a GPU")
    ended = run([python, "resnet50/train_mxnet.py", *options])
    assert ended.returncode == 1
    assert facts(ended.stdout, "error")["kind"] == "no_device"
