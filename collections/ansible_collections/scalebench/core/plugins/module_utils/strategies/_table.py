"""The named strategies as data: a source of numbers and the parameters of the rule."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

__all__ = ["COMMON", "SOURCES", "STRATEGIES", "TO_ACCURACY", "USUAL"]

# Parameters of every strategy. run: 1 is the first in the file, -1 the last with observations.
# scope: what the result refers to: global, per_device, or printed (as in the log). devices: number
# of devices of the run; null takes it from the log.
COMMON: Dict[str, Any] = {"run": -1, "scope": "global", "devices": None, "rounding": "numpy_2"}
# Parameters by source of the numbers. warmup: number of observations dropped first. iterations:
# number used after them, null for all. ranks: auto, all, first, a rank's number; median, mean or
# sum over ranks; rows: the median of each group of as many lines as there are devices. batch_size:
# units per step on all devices; null takes it from the log. fewer: whether fewer observations than
# iterations do as well. every: only lines whose step is a multiple of this count.
SOURCES: Dict[str, Dict[str, Any]] = {
    "observations": {
        "warmup": 0,
        "iterations": None,
        "drop_last": 0,
        "average": "mean",
        "trim": 0.05,
        "trim_least": 5,
        "round_each": "none",
        "batch_size": None,
        "ranks": "auto",
        "fewer": False,
        "every": None,
    },
    # by: whether warmup and iterations count observations or printed steps. after_step: only lines
    # of later steps count. accumulation: batches of a device in a step; null is as the log says.
    "wall_clock": {
        "warmup": 20,
        "iterations": 100,
        "by": "observations",
        "batch_size": None,
        "ranks": "first",
        "after_step": None,
        "accumulation": None,
    },
    # warmup_epochs: epochs of which the end does not count.
    "cumulative": {"warmup": 1, "warmup_epochs": 1, "ranks": "first"},
    "summary": {"key": None},
    "table": {"batch_size_per_device": None},
}


def _observations(about: str, **parameters: Any) -> Dict[str, Any]:
    return {"source": "observations", "about": about, **parameters}


def _wall_clock(about: str, **parameters: Any) -> Dict[str, Any]:
    return {"source": "wall_clock", "about": about, **parameters}


def _summary(about: str, **parameters: Any) -> Dict[str, Any]:
    return {"source": "summary", "about": about, **parameters}


STRATEGIES: Dict[str, Dict[str, Any]] = {
    "mean": _observations("arithmetic mean of the throughputs printed"),
    "mean_after_warmup": _observations(
        "drop 20, arithmetic mean of the next 100: the reference method", warmup=20, iterations=100
    ),
    "median": _observations("middle throughput printed", average="median"),
    "harmonic_mean": _observations("n / sum(1/x): all samples over all time", average="harmonic"),
    "trimmed_mean": _observations(
        "sort, drop max(5, 5 %) at both ends, mean of the rest", average="trimmed"
    ),
    "last_printed": _observations("the last throughput printed", average="last"),
    "wall_clock": _wall_clock(
        "samples of the 100 steps between the ends of the 20th and the 120th, over their time"
    ),
    "last_summary": _summary("what the log sums up at its end, by the reader's usual key"),
    "summary_table": {
        "source": "table",
        "rounding": "none",
        "about": "the table that the MXNet benchmark prints, see mxnet_cumulative",
    },
    # NVIDIA/DeepLearningExamples MxNet fit.py and benchmark.py: the durations of an epoch are added
    # to those of the epochs before it.
    "mxnet_cumulative": {
        "source": "cumulative",
        "rounding": "g5",
        "about": "the rule of that table from the lines: harmonic mean, over the epochs after the"
        " first, of the rate from the end of the first line (20 steps) to the epoch's end",
    },
    # DLPerf, extract_*.py: one script a framework.
    "dlperf_tensorflow": _observations(
        "each printed imgs_per_sec to 2 places, mean of the first 100; the hook itself drops 20",
        iterations=100,
        round_each="python_2",
        fewer=True,
    ),
    "dlperf_tensorflow_time": _wall_clock(
        "from the 1st to the 100th printed line: 99 steps", warmup=1, iterations=99
    ),
    "dlperf_paddle": _observations(
        "batch size / elapse to 4 places, lines 21 to 120, mean",
        warmup=20,
        iterations=100,
        round_each="python_4",
        fewer=True,
    ),
    "dlperf_paddle_time": _wall_clock(
        "from 'train batch 19]' to 'train batch 119]': lines 20 and 120, 100 steps; release/1.8"
        " prints no times, so that neither this nor DLPerf's script gives a figure for it"
    ),
    "dlperf_mxnet": _observations(
        "each line to 2 places, median of every N lines for N devices, then rows 21 to 120, mean",
        warmup=20,
        iterations=100,
        ranks="rows",
        round_each="python_2",
    ),
    "dlperf_mxnet_time": _wall_clock("from line 20 N to line 120 N: 100 steps", ranks="rows"),
    "dlperf_mxnet_gluon": _observations(
        "each line to 2 places, lines 21 to 120, mean",
        warmup=20,
        iterations=100,
        ranks="all",
        round_each="python_2",
    ),
    "dlperf_tf2": _observations(
        "drop the first TimeHistory, mean of the next 5", warmup=1, iterations=5, fewer=True
    ),
    "dlperf_tf2_time": _wall_clock(
        "from the 1st to the 6th TimeHistory: 500 steps", warmup=1, iterations=5
    ),
    "dlperf_oneflow": _wall_clock(
        "by the unix times printed with iterations 20 and 120: 100 steps", by="steps"
    ),
    "dlperf_pytorch_time": _wall_clock(
        "of the lines with Iteration above 5 from the 20th to the 120th: 100 steps", after_step=5
    ),
    # DLPerf, BERT: their scripts take the batch size from the log's name, whatever the log says.
    "dlperf_bert_pytorch": _wall_clock(
        "as dlperf_pytorch_time, of the lines Training Iteration", after_step=5, accumulation=1
    ),
    "dlperf_bert_tensorflow": _observations(
        "of the lines of every 10th iteration the 3rd to the 12th, mean",
        warmup=2,
        iterations=10,
        every=10,
        fewer=True,
    ),
    "dlperf_bert_tensorflow_time": _wall_clock(
        "by the times of Iteration 20 and 120: 100 steps", by="steps", accumulation=1
    ),
    "dlperf_bert_oneflow": _wall_clock(
        "by the unix times of steps 19 and 119, counted from 0: 100 steps", by="steps", warmup=19
    ),
    "dlperf_bert_paddle": _observations(
        "steps/s times the sequences of a node to 4 places, lines 21 to 120, mean",
        warmup=20,
        iterations=100,
        round_each="python_4",
        fewer=True,
    ),
    # OneFlow-Benchmark, reports/resnet50_v15_fp32_report.md
    "oneflow_report": _observations(
        "drop the first samples/s, mean of the rest", warmup=1, rounding="numpy_3"
    ),
    # NVIDIA/DeepLearningExamples: benchmark hooks and DLLogger summaries.
    "ngc_last_throughput": _summary("the last train_throughput, an arithmetic mean of rates"),
    # wanghuancoder/PerformanceReport@66245fd: rules fitted to its logs.
    "performance_report_tensorflow": _summary(
        "the last train_throughput cut to 3 places", rounding="truncate_3"
    ),
    "performance_report_paddle_1gpu": _observations(
        "the last ips, a running average, cut to 3 places", average="last", rounding="truncate_3"
    ),
    "performance_report_paddle_8gpu": _observations(
        "drop 10 lines, mean, times devices, cut to 3 places", warmup=10, rounding="truncate_3"
    ),
    # PaddlePaddle/Perf: rules fitted to its logs; some may fit by chance.
    "perf_2020_tensorflow_32gpu": _observations("mean of all total_ips, %.6g", rounding="g6"),
    "perf_2021_pytorch": _summary("compute_ips of the Summary", key="train.compute_ips"),
    "perf_2021_paddle": _observations("drop 5 lines, mean, times devices", warmup=5),
    "perf_2022_mxnet": _observations("drop 5 lines, mean, %.6g", warmup=5, rounding="g6"),
    "perf_2023_tensorflow": _observations("drop 5 lines, mean, %.6g", warmup=5, rounding="g6"),
    "perf_2023_pytorch": _observations("drop 8 lines, mean", warmup=8),
    "perf_2023_paddle": _observations(
        "drop 10 lines, trim max(5, 5 %) at both ends, mean, times devices, cut to 3 places",
        warmup=10,
        average="trimmed",
        rounding="truncate_3",
    ),
    "perf_2023_paddle_32gpu": _observations(
        "drop 10 lines, mean, times devices, cut to 3 places", warmup=10, rounding="truncate_3"
    ),
}
# The strategy of ``auto``, by reader.
USUAL: Dict[str, str] = {
    "ai_rank": "last_summary",
    "bert_oneflow": "dlperf_bert_oneflow",
    "bert_paddle": "dlperf_bert_paddle",
    "bert_pytorch": "last_summary",
    "bert_tensorflow": "dlperf_bert_tensorflow",
    "collective": "harmonic_mean",
    "mxnet_dllogger": "perf_2022_mxnet",
    "mxnet_speedometer": "perf_2022_mxnet",
    "nccl_tests": "harmonic_mean",
    "oneflow": "oneflow_report",
    "paddle_fluid": "dlperf_paddle",
    "paddle_suites": "perf_2021_paddle",
    "paddleclas": "perf_2021_paddle",
    "paddlenlp": "perf_2021_paddle",
    "pytorch_ngc": "perf_2023_pytorch",
    "scalebench": "mean_after_warmup",
    "tensorflow_ngc_benchmark": "mean",
    "tensorflow_ngc_nvlog": "mean",
    "tensorflow_ngc_train": "dlperf_tensorflow",
    "tensorflow_official": "dlperf_tf2",
}
# The same where the log states mode train_and_evaluate.
TO_ACCURACY: Dict[str, str] = {"tensorflow_ngc_train": "ngc_last_throughput"}
