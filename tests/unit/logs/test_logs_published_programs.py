"""What published programs print, and what DLPerf's own extractors make of it.

The programs' own printing code runs in a process with its framework stood in for
(``published_printers.py``), DLPerf's scripts run as they are; both from ``shared/upstream`` beside
this tree, with the logs that the programs printed on CPUs in ``shared/logs``.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs, strategies
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import read_log_tree

SHARED = Path(__file__).parents[4] / "shared"
UPSTREAM, LOGS = SHARED / "upstream", SHARED / "logs"
DLPERF = UPSTREAM / "Oneflow-Inc+DLPerf@c89430bac64f"
PADDLE = "PaddlePaddle+models@b71cf6322ad8/PaddleCV/image_classification"
TENSORFLOW = "NVIDIA+DeepLearningExamples@{}/TensorFlow/Classification/ConvNets"
MXNET = "NVIDIA+DeepLearningExamples@99b1c898cead/MxNet/Classification/RN50v1.5"
PRINTERS = Path(__file__).parents[1] / "published_printers.py"
needs_upstream = pytest.mark.skipif(
    not UPSTREAM.is_dir(), reason="the sources of the published programs are not beside this tree"
)
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="the raw logs are not beside this tree")
# name -> script of DLPerf's, strategy of ours.
TF1 = "NVIDIADeepLearningExamples/TensorFlow/Classification/ConvNets/resnet50v1.5"
MX = "NVIDIADeepLearningExamples/MxNet/Classification/RN50v1.5"
EXTRACTORS = {
    "tensorflow": (f"{TF1}/extract_tensorflow_logs.py", "dlperf_tensorflow"),
    "tensorflow_time": (f"{TF1}/extract_tensorflow_logs_time.py", "dlperf_tensorflow_time"),
    "paddle": ("PaddlePaddle/resnet50v1.5/extract_paddle_logs.py", "dlperf_paddle"),
    "mxnet": (f"{MX}/extract_mxnet_logs.py", "dlperf_mxnet"),
    "mxnet_time": (f"{MX}/extract_mxnet_logs_time.py", "dlperf_mxnet_time"),
    "tf2": ("TensorFlow/resnet50v1.5/extract_tensorflow_logs.py", "dlperf_tf2"),
    "tf2_time": ("TensorFlow/resnet50v1.5/extract_tensorflow_logs_time.py", "dlperf_tf2_time"),
}


def printed(program, folder, *arguments, rank=0, size=1, seconds=0.25, images=0, tmp_path):
    """Return what a program prints as one rank."""
    where = tmp_path / f"rank{rank}"
    where.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        **{"RANK": str(rank), "SIZE": str(size), "IMAGES": str(images)},
        "BESIDE": str(UPSTREAM / "NVIDIA+dllogger@0478734ff7be"),
    }
    command = [sys.executable, str(PRINTERS), program, str(UPSTREAM / folder), str(seconds)]
    done = subprocess.run(
        [*command, *arguments],
        cwd=where,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def tagged(*texts, stream="stdout"):
    """Return the output of several ranks as mpirun -tag-output prints it, line by line."""
    ranks = [text.splitlines() for text in texts]
    longest = max(map(len, ranks))
    return "".join(
        f"[1,{rank}]<{stream}>:{lines[at]}\n"
        for at in range(longest)
        for rank, lines in enumerate(ranks)
        if at < len(lines)
    )


def tree(tmp_path, text, case="1n1g", batch=4):
    """Write a log where DLPerf's scripts look for it, and return the folder of cases."""
    path = tmp_path / "tree" / case / f"r50_b{batch}_fp32_1.log"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path.parents[1]


def extracted(name, folder, tmp_path):
    """Return what DLPerf's script gives: ``{case: {average_speed, median_speed, speedup}}``."""
    out = tmp_path / f"out_{name}"
    subprocess.run(
        [
            *(sys.executable, str(DLPERF / EXTRACTORS[name][0])),
            *(f"--log_dir={folder}", f"--output_dir={out}"),
        ],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    (models,) = json.loads((out / f"{folder.name}_result.json").read_text()).values()
    # Asking for 1n1g makes an empty one.
    return {case: figures for case, figures in models.items() if figures.get("average_speed")}


def reported(name, folder):
    """Return by topology the repeats' throughputs as the report of a tree has them."""
    results = read_log_tree(str(folder), EXTRACTORS[name][1], {}).results
    assert {r["ending"]: r["reason"] for c in results["cells"] for r in c["repeats"]} == {"ok": ""}
    return {cell["topology"]: cell for cell in results["cells"]}


def same(name, folder, tmp_path):
    """Hold every cell of a report against DLPerf's script."""
    theirs, ours = extracted(name, folder, tmp_path), reported(name, folder)
    assert ours.keys() == theirs.keys()
    for case, figures in theirs.items():
        assert ours[case]["average_speed"] == figures["average_speed"]
        if "1n1g" in theirs:
            assert ours[case]["median_speed"] == figures["median_speed"]
            assert ours[case]["speedup"] == figures["speedup"]
    return ours


# Logs of the programs themselves.


@needs_upstream
@needs_logs
@pytest.mark.parametrize(
    ("log", "batch", "names"),
    [
        ("tf_fed7_train_quiet_1.log", 2, ["tensorflow", "tensorflow_time"]),
        ("paddle_launch_1.log", 4, ["paddle"]),
        ("dlperf_wrapper_paddle_1.log", 4, ["paddle"]),
        ("tf2_official_1.log", 2, ["tf2", "tf2_time"]),
    ],
)
def test_a_log_of_a_published_program_gives_the_figure_of_its_extractor(
    log, batch, names, tmp_path
):
    folder = tree(tmp_path, (LOGS / "published-programs" / log).read_text(), batch=batch)
    for name in names:
        same(name, folder, tmp_path)


@needs_upstream
@needs_logs
@pytest.mark.parametrize("name", ["tf2", "tf2_time"])
def test_the_matrix_of_dlperf_has_the_figures_of_its_extractors(name, tmp_path):
    root = LOGS / "Oneflow-Inc+DLPerf@e36df2e/Tensorflow/resnet50v1.5/logs/tensorflow/resnet50"
    shutil.copytree(root, tmp_path / "resnet50")
    assert len(same(name, tmp_path / "resnet50", tmp_path)) == 6


@needs_logs
def test_a_line_of_mxnet_stands_for_twenty_steps():
    reading = logs.read((LOGS / "published-programs/mxnet_1.log").read_bytes())
    found = log_facts(reading, "mxnet_cumulative")
    assert found["wall_clock_throughput"] == pytest.approx(10.61, rel=0.01)
    # 3 epochs of 60 steps, less the first line: 13.778, 11.686 | 11.052, 10.357, 10.172 | ...
    assert (found["count"], found["steps"]) == (8, 160)
    to_second = 5 / sum(1 / x for x in (13.777926, 11.685634, 11.051660, 10.357269, 10.171621))
    to_third = 8 / (5 / to_second + sum(1 / x for x in (8.216893, 10.988346, 10.208284)))
    assert found["throughput"] == float(f"{2 / (1 / to_second + 1 / to_third):.5g}")
    assert log_facts(reading, "harmonic_mean", {"warmup": 1})["throughput"] == round(to_third, 2)


@needs_logs
def test_the_table_of_mxnets_benchmark_comes_from_its_lines():
    """The table is up to 0.03 % lower: it counts the resets of the data between epochs."""
    for path in sorted(LOGS.glob("*66245fd/ResNet50V1.5/OtherReports/MxNet/logs/*.txt")):
        reading = logs.read(path.read_bytes())
        for run, devices in ((1, 1), (2, 8)):
            table = strategies.apply(reading, "summary_table", {"devices": devices})
            ours = strategies.apply(reading, "mxnet_cumulative", {"run": run})
            assert ours["steps"] == 1480
            assert reading["runs"][run - 1]["identity"]["world_size"] == devices
            assert 1 <= ours["throughput"] / table["throughput"] < 1.0003


# Lines of the programs' own printing code.


def paddle(tmp_path, *arguments, rank=0, size=1):
    given = ["--batch_size=8", "--max_iter=120", "--print_step=1", "--validate=False"]
    folder = ["--image_shape", "3", "32", "32", "--model=ResNet50"]
    return printed(
        "paddle", PADDLE, *given, *folder, *arguments, rank=rank, size=size, tmp_path=tmp_path
    )


def launched(devices=2):
    """Return what paddle.distributed.launch prints before its ranks, here with 127.0.0.1."""
    gpus = ",".join(map(str, range(devices)))
    return (
        "-----------  Configuration Arguments -----------\ncluster_node_ips: 127.0.0.1\n"
        f"log_dir: None\nnode_ip: 127.0.0.1\nprint_config: True\nselected_gpus: {gpus}\n"
        "started_port: 26270\n------------------------------------------------\n"
    )


@needs_upstream
@pytest.mark.parametrize(
    ("arguments", "identity"),
    [
        ([], {"precision": "fp32", "data_backend": "native", "image_size": 32}),
        (["--use_mixup=True"], {"precision": "fp32"}),
        (
            ["--use_fp16=True", "--scale_loss=128.0"],
            {"precision": "amp", "loss_scaling": "dynamic"},
        ),
        (
            ["--use_fp16=True", "--use_dynamic_loss_scaling=false", "--use_dali=True"],
            {"precision": "amp", "loss_scaling": "static", "data_backend": "dali"},
        ),
    ],
)
def test_paddle_prints_its_arguments_with_a_space_before_the_colon(arguments, identity, tmp_path):
    text = paddle(tmp_path, *arguments, size=2)
    assert re.search(r"(?m)^INFO:utils\.utility: +batch_size : 8$", text)
    folder = tree(tmp_path, launched() + text, "1n2g")
    (repeat,) = same("paddle", folder, tmp_path)["1n2g"]["repeats"]
    assert repeat["count"] == 100
    reading = logs.read(launched() + text)
    expected = {"batch_size_per_device": 4, "global_batch_size": 8, "world_size": 2, **identity}
    assert expected.items() <= reading["identity"].items()
    assert ("loss_scaling" in reading["identity"]) == (identity["precision"] == "amp")


@needs_upstream
def test_a_log_of_paddles_first_worker_has_its_sizes_from_the_path(tmp_path):
    """``workerlog.0`` lacks the launcher's lines; on CPUs batch_size is not of a node."""
    for case, arguments in (("1n2g", []), ("2n1g", ["--use_gpu=False"])):
        text = paddle(tmp_path, *arguments, size=2)
        assert "selected_gpus" not in text
        same("paddle", tree(tmp_path / case, text, case), tmp_path / case)


@needs_upstream
def test_paddles_batch_size_on_cpus_is_not_divided_by_its_devices(tmp_path):
    """Every rank takes all of it."""
    text = launched(2) + paddle(tmp_path, "--use_gpu=False", size=2)
    same("paddle", tree(tmp_path, text, "1n2g"), tmp_path)
    identity = logs.read(text)["identity"]
    assert (identity["world_size"], identity["devices_per_node"]) == (2, 2)
    assert "batch_size_per_device" not in identity
    assert "global_batch_size" not in identity


@needs_upstream
def test_paddles_evaluation_is_read(tmp_path):
    text = launched(1) + paddle(tmp_path, "--validate=True")
    reading = logs.read(text)
    (evaluation,) = reading["summary"]["evaluations"]
    assert (evaluation["epoch"], evaluation["accuracy"]) == (0, pytest.approx(41.0))
    assert len(reading["observations"]) == 120


@needs_upstream
def test_dlperfs_script_for_paddle_counts_test_lines_and_ours_does_not(tmp_path):
    train = [line for line in paddle(tmp_path).splitlines() if "train batch" in line]
    head = [line for line in paddle(tmp_path).splitlines() if "train batch" not in line]
    test = [line.replace("train batch", "test  batch") for line in train[:10]]
    test = [re.sub(r"elapse [0-9.]+ sec", "elapse 0.1000 sec", line) for line in test]
    text = "\n".join([*launched(1).splitlines(), *head, *train[:60], *test, *train[60:], ""])
    folder = tree(tmp_path, text, batch=8)
    ours = reported("paddle", folder)["1n1g"]["average_speed"]
    assert ours == pytest.approx(8 / 0.2503, rel=1e-3)
    theirs = extracted("paddle", folder, tmp_path)["1n1g"]["average_speed"]
    assert theirs == pytest.approx((90 * 8 / 0.2503 + 10 * 8 / 0.1) / 100, rel=1e-3)


@needs_upstream
@needs_logs
def test_dlperfs_script_for_tensorflow_2_mixes_the_workers_of_a_log(tmp_path):
    one = (LOGS / "published-programs/tf2_official_1.log").read_text()
    other = re.sub(
        r"[0-9.]+(?= examples/second)", lambda found: str(float(found.group()) * 1.1), one
    )
    folder = tree(tmp_path, tagged(one, other, stream="stderr"), batch=2)
    theirs = extracted("tf2", folder, tmp_path)["1n1g"]["average_speed"]
    (path,) = folder.rglob("*.log")
    reading = logs.read(path.read_bytes())
    ours = {ranks: log_facts(reading, "dlperf_tf2", {"ranks": ranks}) for ranks in ("auto", "all")}
    assert ours["all"]["throughput"] == theirs != ours["auto"]["throughput"]


def test_paddle_without_time_stamps_has_no_time_rule():
    """DLPerf's own script for it fails at the first line: release/1.8 prints no times."""
    path = Path(__file__).parents[2] / "fixtures/logs/paddle_fluid.log"
    facts = log_facts(logs.read(path.read_bytes()), "dlperf_paddle_time")
    assert facts["throughput"] is None
    assert "no interval" in facts["reason"]


def tensorflow(tmp_path, commit, *arguments, rank=0, size=1, images=1_281_167):
    given = ["--arch=resnet50", "--batch_size=4", "--display_every=1", "--results_dir=results"]
    folder = TENSORFLOW.format(commit)
    return printed(
        *("tensorflow", folder, *given, *arguments),
        rank=rank,
        size=size,
        images=images,
        tmp_path=tmp_path,
    )


COMMITS = ["fed7ba99cde9", "99b1c898cead"]
TRAIN = ["--mode=train", "--iter_unit=batch", "--num_iter=120", "--data_dir=/data"]


@needs_upstream
@pytest.mark.parametrize("commit", COMMITS)
@pytest.mark.parametrize(
    ("precision", "identity"),
    [
        (["--precision=fp32"], {"precision": "fp32", "xla": False, "data_backend": "native"}),
        (
            ["--use_tf_amp", "--use_static_loss_scaling", "--loss_scale=128", "--use_xla"],
            {"precision": "amp", "xla": True},
        ),
        (["--precision=fp16", "--use_dali"], {"precision": "fp16", "data_backend": "dali"}),
    ],
)
def test_tensorflow_in_train_mode_on_two_ranks(commit, precision, identity, tmp_path):
    ranks = [tensorflow(tmp_path, commit, *TRAIN, *precision, rank=rank, size=2) for rank in (0, 1)]
    for place, text in (("tags", tagged(*ranks)), ("plain", ranks[1] + ranks[0])):
        folder = tree(tmp_path / place, text, "2n1g")
        same("tensorflow", folder, tmp_path / place)
        same("tensorflow_time", folder, tmp_path / place)
        reading = logs.read(text)
        assert reading["reader"] == "tensorflow_ngc_train"
        expected = {"world_size": 2, "batch_size_per_device": 4, "data": "real", **identity}
        assert expected.items() <= reading["identity"].items()
        assert [row["epoch"] for row in reading["observations"]] == [0] * 100
        facts = log_facts(reading, "auto")
        assert (facts["steps"], facts["ending"]["kind"]) == (100, "complete")
        assert reading["summary"]["train_throughput"] == pytest.approx(
            facts["throughput"], abs=0.01
        )


@needs_upstream
@pytest.mark.parametrize("commit", COMMITS)
def test_tensorflow_on_synthetic_data(commit, tmp_path):
    given = ["--mode=training_benchmark", "--iter_unit=batch", "--num_iter=120"]
    text = tensorflow(tmp_path, commit, *given, "--warmup_steps=20")
    reading = logs.read(text)
    assert (reading["reader"], reading["identity"]["data"]) == (
        "tensorflow_ngc_benchmark",
        "synthetic",
    )
    # It counts its steps from 0.
    assert [row["step"] for row in reading["observations"]] == list(range(20, 120))
    facts = log_facts(reading, "dlperf_tensorflow")
    assert facts["steps"] == 100
    assert facts["throughput"] == pytest.approx(reading["summary"]["train_throughput"], abs=0.01)
    theirs = extracted("tensorflow", tree(tmp_path, text), tmp_path)["1n1g"]
    assert math.isnan(theirs["average_speed"])


@needs_upstream
@pytest.mark.parametrize("commit", COMMITS)
@pytest.mark.parametrize(("epochs", "steps"), [(3, 40), (3, 200), (1, 60)])
def test_tensorflow_to_an_accuracy(commit, epochs, steps, tmp_path):
    """The evaluation prints with the benchmark's hook, once after the last epoch."""
    given = ["--mode=train_and_evaluate", "--iter_unit=epoch", f"--num_iter={epochs}"]
    text = tensorflow(
        *(tmp_path, commit, *given, "--data_dir=/data", "--warmup_steps=5", "--use_tf_amp"),
        images=4 * steps + 3,
    )
    reading = logs.read(text)
    assert (reading["reader"], len(reading["observations"])) == (
        "tensorflow_ngc_train",
        epochs * steps - 20,
    )
    last = reading["observations"][-1]
    assert (last["epoch"], last["step"]) == (epochs - 1, epochs * steps)
    facts = log_facts(reading, "ngc_last_throughput", target_accuracy=76.1)
    training = facts["time_to_train"]
    assert training["best_accuracy"] == pytest.approx(76.97)
    # Training and evaluation, a step of 0.25 s and a little each.
    assert training["total_time"] == pytest.approx((epochs + 1) * steps * 0.2503, rel=1e-3)
    assert training["time_to_target"] == training["total_time"]
    assert training["epochs"] == epochs
    assert training["end_to_end_throughput"] == pytest.approx(
        epochs * steps * 4 / training["total_time"]
    )
    assert facts["throughput"] == pytest.approx(4 / 0.2503, rel=1e-3)
    never = log_facts(reading, "ngc_last_throughput", target_accuracy=77.0)["time_to_train"]
    assert never["time_to_target"] is None


def mxnet(tmp_path, *arguments, rank=0, size=1):
    given = ["--kv-store=horovod", "--gpus=0", f"--batch-size={4 * size}", "--dtype=float32"]
    folder = ["--data-backend=synthetic", "--image-shape=3,32,32", "--log=train.log"]
    return printed(
        *("mxnet", MXNET, *given, *folder, "--report=report.json", *arguments),
        rank=rank,
        size=size,
        tmp_path=tmp_path,
    )


@needs_upstream
@pytest.mark.parametrize(
    ("given", "backend", "data"),
    [
        ("mxnet", "recordio", "real"),
        ("dali-gpu", "dali", "real"),
        ("synthetic", "native", "synthetic"),
    ],
)
def test_mxnets_readers_of_data_have_our_names(given, backend, data, tmp_path):
    iterations = ["--mode=train", "--benchmark-iters=40", "--num-epochs=1"]
    text = mxnet(tmp_path, *iterations, f"--data-backend={given}")
    identity = logs.read(text)["identity"]
    assert (identity["data_backend"], identity["data"]) == (backend, data)


@needs_upstream
@pytest.mark.parametrize("size", [1, 2])
def test_mxnet_as_dlperf_runs_it(size, tmp_path):
    given = ["--mode=train", "--benchmark-iters=120", "--num-epochs=1", "--disp-batches=1"]
    ranks = [mxnet(tmp_path, *given, "--no-metrics", rank=r, size=size) for r in range(size)]
    case = f"{size}n1g"
    for place, text in (
        ("mpirun", tagged(*ranks, stream="stderr")),
        ("gloo", tagged(*ranks, stream="stderr").replace("[1,", "[")),
    ):
        folder = tree(tmp_path / place, text, case)
        same("mxnet", folder, tmp_path / place)
        same("mxnet_time", folder, tmp_path / place)
        reading = logs.read(text)
        expected = {"world_size": size, "global_batch_size": 4 * size, "precision": "fp32"}
        assert expected.items() <= reading["identity"].items()
        facts = log_facts(reading, "dlperf_mxnet", {"devices": size})
        assert (facts["count"], facts["steps"]) == (100, 100)


@needs_upstream
def test_untagged_ranks_of_mxnet_have_one_clock(tmp_path):
    given = ["--mode=train", "--benchmark-iters=100", "--num-epochs=3", "--no-metrics"]
    ranks = [mxnet(tmp_path, *given, rank=rank, size=2) for rank in (0, 1)]
    lines = [text.splitlines() for text in ranks]
    plain = "".join(f"{line}\n" for both in zip(*lines, strict=True) for line in both)
    known = {"world_size": 2, "batch_size_per_device": 4, "nodes": 2}
    of_two, of_one = (
        log_facts(logs.read(text, known=known), "mxnet_cumulative") for text in (plain, ranks[0])
    )
    for key in ("throughput", "wall_clock_throughput", "count", "steps"):
        assert of_two[key] == of_one[key]
    assert of_two["wall_clock_throughput"] == pytest.approx(8 / 0.2503, rel=1e-3)


@needs_upstream
def test_mxnet_as_its_benchmark_runs_it(tmp_path):
    given = ["--mode=train", "--benchmark-iters=100", "--num-epochs=3", "--no-metrics"]
    text = tagged(mxnet(tmp_path, *given), stream="stderr")
    found = log_facts(logs.read(text), "mxnet_cumulative")
    report = json.loads((tmp_path / "rank0/report.json").read_text())
    of_epochs = report["metrics"]["train.total_ips"][1:]
    assert found["throughput"] == float(f"{2 / sum(1 / x for x in of_epochs):.5g}")
    assert (found["count"], found["steps"]) == (14, 280)


@needs_upstream
def test_mxnet_with_validation(tmp_path):
    given = ["--mode=train_val", "--benchmark-iters=40", "--num-epochs=2"]
    text = tagged(*(mxnet(tmp_path, *given, rank=r, size=2) for r in (0, 1)), stream="stderr")
    reading = logs.read(text)
    first = reading["observations"][0]
    assert (first["loss"], first["accuracy"]) == (6.9, 0.25)
    found = log_facts(reading, "mean", target_accuracy=25.0)["time_to_train"]
    assert (found["evaluations"], found["best_accuracy"], found["target_epoch"]) == (2, 25.0, 0)
    # 40 steps of training, 40 of validation, 0.25 s and a little each.
    assert found["time_to_target"] == pytest.approx(80 * 0.2503, rel=1e-3)


@needs_upstream
def test_oneflow_by_the_times_that_it_prints(tmp_path):
    """The log stands in for one of OneFlow 0.2, whose packages no index has."""
    path = Path(__file__).parents[2] / "fixtures/logs/oneflow_unix_time.log"
    case = tmp_path / "logs" / "2n8g"
    case.mkdir(parents=True)
    shutil.copy(path, case / "r50_b32_fp32_1.log")
    script = DLPERF / "OneFlow/Classification/ConvNets/resnet50v1.5/extract_cnn_result.py"
    done = subprocess.run(
        [sys.executable, str(script), f"--benchmark_log_dir={case.parent}", "--print_mode=csv"],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    theirs = float(done.stdout.splitlines()[2].split(",")[-1])
    facts = log_facts(logs.read(path.read_bytes()), "dlperf_oneflow")
    assert (facts["throughput"], facts["steps"]) == (theirs, 100)
