"""Every raw log that somebody published a figure from gives that figure, by a named strategy."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs, strategies
from ansible_collections.scalebench.core.plugins.module_utils.results.scaling import reference_facts

LOGS = Path(__file__).parents[4] / "shared" / "logs"
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="the raw logs are not beside this tree")

# (file, framework) -> (strategy, parameters): first match counts.
RULES = [
    (r"66245fd.*/MxNet/|6f36264.*/MxNet/", "summary_table", {}),
    (r"66245fd.*/TensorFlow/", "performance_report_tensorflow", {}),
    (r"66245fd.*/paddle_gpu1_", "performance_report_paddle_1gpu", {}),
    (r"66245fd.*/paddle_gpu8_amp_bs128", "performance_report_paddle_8gpu", {"warmup": 21}),
    (r"66245fd.*/paddle_gpu8_", "performance_report_paddle_8gpu", {}),
    (r"66245fd.*/PyTorch/|6f36264.*/PyTorch/", "last_summary", {}),
    (r"9e39535.*/pytorch_gpu8_amp_bs244", "last_printed", {}),
    (r"9e39535.*/PyTorch/", "perf_2021_pytorch", {}),
    (r"9e39535.*/paddle_gpu1_fp32_bs96", "perf_2021_paddle", {"drop_last": 1}),
    (r"9e39535.*/paddle_gpu1_", "perf_2021_paddle", {}),
    (r"/TensorFlow/.*gpu32", "perf_2020_tensorflow_32gpu", {}),
    (r"/TensorFlow/", "ngc_last_throughput", {}),
    (r"3b2ad78.*/MxNet/", "perf_2022_mxnet", {}),
    (r"3b2ad78.*/PyTorch/", "perf_2023_pytorch", {}),
    (r"DLPerf.*/1n1g/.*_5.log", "mean", {"warmup": 4}),
    (r"DLPerf", "dlperf_tf2", {}),
]
READERS = [
    (r"66245fd.*/MxNet/", "mxnet_speedometer"),
    (r"/MxNet/", "mxnet_dllogger"),
    (r"9e39535.*/TensorFlow/", "tensorflow_ngc_nvlog"),
    (r"/TensorFlow/", "tensorflow_ngc_benchmark"),
    (r"DLPerf", "tensorflow_official"),
    (r"/PyTorch/", "pytorch_ngc"),
    (r"", "paddleclas"),
]

BATCH, WORLD, PRECISION = "batch_size_per_device", "world_size", "precision"
# What the logs of a source do not state; every other log states all three.
UNSTATED = [
    (r"883d419.*/TensorFlow/", {BATCH, WORLD, PRECISION}),
    (r"9e39535.*/TensorFlow/.*fp32", {PRECISION}),
    (r"6f36264.*addle", {WORLD}),
    (r"3b2ad78.*addle.*gpu1_", {BATCH, WORLD}),
    (r"3b2ad78.*addle", {BATCH}),
    (r"", set()),
]
# Where what a path calls amp is float16 throughout.
HALF = re.compile(r"/MxNet/|66245fd.*addle|pure_fp16")


def rows() -> list[dict[str, str]]:
    if not LOGS.is_dir():
        return []
    with (LOGS / "MANIFEST.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def read(name: str) -> dict[str, object]:
    with (LOGS / name).open("rb") as file:
        return logs.read(file, name=name)


def first(table: list[tuple[str, ...]], name: str) -> tuple[str, ...]:
    return next(row[1:] for row in table if re.search(row[0], name))


def devices(name: str) -> int:
    found = re.search(r"gpu(\d+)_", name)
    return int(found.group(1)) if found else 0


@needs_logs
@pytest.mark.parametrize(
    "row", [row for row in rows() if row["published"]], ids=lambda r: r["file"]
)
def test_a_log_gives_the_published_figure(row):
    reading = read(row["file"])
    strategy, parameters = first(RULES, row["file"])
    published = re.findall(r"([\d.]+)(?: \(n=(\d)\))?", row["published"])
    for figure, count in published:
        given = dict(parameters)
        if count:
            given["devices"] = int(count)
        elif reading["reader"] == "paddleclas":
            given["devices"] = devices(row["file"])
        found = strategies.apply(reading, strategy, given)["throughput"]
        if "1n1g/rn50_b128_fp32_5" in row["file"]:
            # The manifest's rule for this file is a chance match: 321.8 is the median of the cell.
            assert found == pytest.approx(float(row["recomputed"]), abs=0.006)
        else:
            assert found == float(figure)


@needs_logs
@pytest.mark.parametrize("row", rows(), ids=lambda r: r["file"])
def test_a_log_has_the_right_reader_identity_and_scope(row):
    reading = read(row["file"])
    (reader,) = first(READERS, row["file"])
    assert reading["reader"] == reader
    assert reading["scope"] == ("per_device" if reader == "paddleclas" else "global")
    name = Path(row["file"]).name
    world = 8 if "gpu1_gpu8" in name else int(row["gpus"])
    half = "fp16" if HALF.search(row["file"]) else "amp"
    wanted = {
        BATCH: int(re.search(r"_bs?(\d+)[_.]", row["file"]).group(1)),
        WORLD: world,
        PRECISION: "fp32" if "fp32" in name else half,
    }
    (unstated,) = first(UNSTATED, row["file"])
    stated = {key: value for key, value in wanted.items() if key not in unstated}
    found = {key: reading["identity"].get(key) for key in wanted}
    assert {key: value for key, value in found.items() if value is not None} == stated


@needs_logs
def test_the_thirty_logs_of_dlperf_give_its_table():
    root = LOGS / "Oneflow-Inc+DLPerf@e36df2e/Tensorflow/resnet50v1.5/logs/tensorflow/resnet50"
    runs: dict[str, dict[str, float]] = {}
    for path in sorted(root.glob("*/*.log")):
        found = strategies.apply(read(str(path.relative_to(LOGS))), "dlperf_tf2")
        runs.setdefault(path.parent.name, {})[path.stem[-1]] = found["throughput"]
    assert sum(map(len, runs.values())) == 30
    facts = reference_facts(runs, "rn50")["rn50"]
    assert {key: (one["median_speed"], one["speedup"]) for key, one in facts.items()} == {
        "1n1g": (321.8, 1.0),
        "1n2g": (574.66, 1.79),
        "1n4g": (1143.46, 3.55),
        "1n8g": (2458.74, 7.64),
        "2n8g": (4849.68, 15.07),
        "4n8g": (9418.44, 29.27),
    }


@needs_logs
def test_logs_that_end_in_a_traceback_keep_their_data():
    names = [row["file"] for row in rows() if re.search("3b2ad78.*/MxNet/", row["file"])]
    assert len(names) == 4
    for name in names:
        reading = read(name)
        assert reading["ending"] == {"kind": "traceback", "detail": "KeyError: 'step'"}
        assert len(reading["observations"]) == 75
        assert None in reading["summary"]["table"][str(devices(name))].values()


@needs_logs
def test_two_runs_pasted_into_one_file_are_two_runs():
    name = next(row["file"] for row in rows() if "tf_gpu32_amp_bs128" in row["file"])
    assert [run["count"] for run in read(name)["runs"]] == [297, 300]
