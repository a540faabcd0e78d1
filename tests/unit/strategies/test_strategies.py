"""Named rules from the observations of a log to one throughput."""

from __future__ import annotations

import math
import re
from pathlib import Path
from statistics import fmean

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils import logs, strategies
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.stats.rounding import ROUNDINGS
from ansible_collections.scalebench.core.plugins.module_utils.strategies._table import TO_ACCURACY
from log_lines import lines
from report_data import documented_rows


def reading(values, *, start=1, world=2, batch=4, ranks=None, times=None):
    """Return the reading of a log of our own with these throughputs, a step every second.

    :param times: those of the lines in seconds, for steps of other durations.
    """
    text = (
        f'[scalebench] header {{"model":"m","world_size":{world},"batch_size_per_device":{batch},'
        f'"global_batch_size":{world * batch}}}\n'
    )
    for at, value in enumerate(values):
        rank = f"[1,{ranks[at]}]<stdout>:" if ranks else ""
        step = start + at
        time = times[at] if times else step
        text += (
            f"{rank}iteration {step} epoch 0 loss 6.9 throughput {value} images/s"
            f" step_time 0.650000 s time {1763690000 + time}.000000\n"
        )
    return logs.read(text + '[scalebench] end {"iterations":1}\n')


def result(values, strategy, /, **parameters):
    return strategies.apply(reading(values), strategy, parameters)["throughput"]


RAMP = [float(n) for n in range(1, 121)]


@pytest.mark.parametrize(
    ("strategy", "parameters", "expected"),
    [
        ("mean", {}, 60.5),
        ("mean", {"warmup": 20}, 70.5),
        ("mean", {"warmup": 20, "iterations": 10}, 25.5),
        ("mean", {"warmup": 20, "drop_last": 1}, 70.0),
        ("mean_after_warmup", {}, 70.5),
        ("mean_after_warmup", {"iterations": None}, 70.5),
        ("mean_after_warmup", {"warmup": 0, "iterations": 4}, 2.5),
        ("median", {}, 60.5),
        ("median", {"iterations": 3}, 2.0),
        ("harmonic_mean", {"iterations": 2}, 1.33),
        ("last_printed", {}, 120.0),
        ("last_printed", {"iterations": 7}, 7.0),
        ("trimmed_mean", {}, 60.5),
        ("trimmed_mean", {"trim": 0.4, "trim_least": 0}, 60.5),
        ("wall_clock", {}, 8.0),
        ("wall_clock", {"batch_size": 16}, 16.0),
        ("wall_clock", {"by": "steps"}, 8.0),
        ("dlperf_tensorflow", {}, 50.5),
        ("dlperf_tensorflow_time", {}, 8.0),
        ("dlperf_tf2", {}, 4.0),
        ("dlperf_bert_tensorflow", {}, 75.0),
        ("mean", {"scope": "per_device"}, 30.25),
        ("mean", {"scope": "per_device", "devices": 4}, 15.12),
        ("mean", {"scope": "per_device", "devices": 4, "rounding": "none"}, 15.125),
        ("mean", {"scope": "printed"}, 60.5),
        ("perf_2023_paddle", {}, 65.5),
    ],
)
def test_a_rule_gives_its_number(strategy, parameters, expected):
    assert result(RAMP, strategy, **parameters) == expected


def test_a_trimmed_mean_leaves_out_the_lowest_and_the_highest_wherever_they_are():
    values = [10.0, 1000.0, 12.0, 1.0, 14.0]
    assert result(values, "trimmed_mean", trim_least=1) == 12.0


# No two ranges of these lines have one mean, nor one time per step.
CURVE = [1000 + n * n * 1.23456789 for n in range(1, 131)]
SQUARES = [n * n for n in range(1, 131)]


def cut(value):
    return math.trunc(value * 1000) / 1000


# What each rule makes of the lines of CURVE, spelt out from its source as `_table.py` names it.
OF_LINES = {
    "mean": round(fmean(CURVE), 2),
    "mean_after_warmup": round(fmean(CURVE[20:120]), 2),
    "median": round((CURVE[64] + CURVE[65]) / 2, 2),
    "harmonic_mean": round(130 / sum(1 / value for value in CURVE), 2),
    "trimmed_mean": round(fmean(CURVE[6:124]), 2),
    "last_printed": round(CURVE[129], 2),
    "dlperf_tensorflow": round(fmean(round(value, 2) for value in CURVE[:100]), 2),
    "dlperf_paddle": round(fmean(round(value, 4) for value in CURVE[20:120]), 2),
    "dlperf_mxnet": round(fmean(round(value, 2) for value in CURVE[20:120]), 2),
    "dlperf_mxnet_gluon": round(fmean(round(value, 2) for value in CURVE[20:120]), 2),
    "dlperf_tf2": round(fmean(CURVE[1:6]), 2),
    # Lines 10, 20, ... are those of every tenth step.
    "dlperf_bert_tensorflow": round(fmean(CURVE[9::10][2:12]), 2),
    "dlperf_bert_paddle": round(fmean(round(value, 4) for value in CURVE[20:120]), 2),
    "oneflow_report": round(fmean(CURVE[1:]), 3),
    "performance_report_paddle_1gpu": cut(CURVE[129]),
    "performance_report_paddle_8gpu": cut(fmean(CURVE[10:])),
    "perf_2020_tensorflow_32gpu": float(f"{fmean(CURVE):.6g}"),
    "perf_2021_paddle": round(fmean(CURVE[5:]), 2),
    "perf_2022_mxnet": float(f"{fmean(CURVE[5:]):.6g}"),
    "perf_2023_tensorflow": float(f"{fmean(CURVE[5:]):.6g}"),
    "perf_2023_pytorch": round(fmean(CURVE[8:]), 2),
    "perf_2023_paddle": cut(fmean(CURVE[16:124])),
    "perf_2023_paddle_32gpu": cut(fmean(CURVE[10:])),
}
# First and last line of the interval of each rule by the clock.
BY_CLOCK = {
    "wall_clock": (20, 120),
    "dlperf_tensorflow_time": (1, 100),
    "dlperf_paddle_time": (20, 120),
    "dlperf_mxnet_time": (20, 120),
    "dlperf_tf2_time": (1, 6),
    "dlperf_oneflow": (10, 110),  # by steps, and the first line is of step 11
    "dlperf_pytorch_time": (25, 125),
    "dlperf_bert_pytorch": (25, 125),
    "dlperf_bert_tensorflow_time": (20, 120),
    "dlperf_bert_oneflow": (9, 109),  # by steps, and the first line is of step 11
}
# The key of the log's own summary, and the places that are kept of it.
OF_SUMMARY = {
    "last_summary": ("usual", "numpy_2"),
    "ngc_last_throughput": ("usual", "numpy_2"),
    "performance_report_tensorflow": ("usual", "truncate_3"),
    "perf_2021_pytorch": ("train.compute_ips", "numpy_2"),
}
OF_THE_TABLE = {"summary_table", "mxnet_cumulative"}  # tests/unit/logs/test_logs_formats.py


@pytest.mark.parametrize("strategy", OF_LINES)
def test_the_constants_of_each_rule_are_its_sources(strategy):
    given = {"devices": 1} if strategy == "dlperf_mxnet" else {}
    found = strategies.apply(reading(CURVE), strategy, given)["throughput"]
    assert found == pytest.approx(OF_LINES[strategy], rel=1e-12)


@pytest.mark.parametrize("strategy", BY_CLOCK)
def test_each_rule_by_the_clock_begins_and_ends_at_its_lines(strategy):
    start = 11 if strategy in ("dlperf_oneflow", "dlperf_bert_oneflow") else 1
    log = reading(CURVE, times=SQUARES, start=start, world=1)
    first, last = BY_CLOCK[strategy]
    found = strategies.apply(log, strategy, {"batch_size": 1000})["throughput"]
    assert found == round(1000 * (last - first) / (last**2 - first**2), 2)


@pytest.mark.parametrize("strategy", OF_SUMMARY)
def test_each_rule_of_a_summary_reads_its_key(strategy):
    key, rounding = OF_SUMMARY[strategy]
    log = reading(RAMP)
    log["runs"][0]["summary"] = {
        "throughput_key": "usual", "usual": 1234.56789, "train.compute_ips": 987.65432,
    }  # fmt: skip
    found = strategies.apply(log, strategy)["throughput"]
    assert found == ROUNDINGS[rounding](log["runs"][0]["summary"][key])


def test_epochs_that_are_not_printed_do_not_end():
    log = reading(RAMP)
    del log["observations"].columns["epoch"]
    with pytest.raises(ValueError, match="prints 120 rates and 0 epochs of them"):
        strategies.apply(log, "mxnet_cumulative")


def test_no_rule_is_without_such_a_test():
    assert {*OF_LINES, *BY_CLOCK, *OF_SUMMARY, *OF_THE_TABLE} == {*strategies.STRATEGIES}


def test_the_result_says_how_it_was_made():
    found = strategies.apply(reading(RAMP), "mean_after_warmup", {"warmup": 10})
    assert (found["count"], found["run"], found["scope"], found["unit"]) == (
        100,
        1,
        "global",
        "images/s",
    )
    assert found["strategy"]["name"] == "mean_after_warmup"
    assert found["strategy"]["parameters"]["warmup"] == 10
    assert found["strategy"]["parameters"]["rounding"] == "numpy_2"


def test_rounding_is_the_reference_efforts():
    assert result([352.71, 352.72], "mean") == 352.72  # 352.715 is a tie
    assert result([3038.7306], "mean", rounding="truncate_3") == 3038.73
    assert result([11622.8901], "mean", rounding="g6") == 11622.9
    assert result(
        [1.006, 1.006, 1.002], "mean", round_each="numpy_2", rounding="none"
    ) == pytest.approx((1.01 + 1.01 + 1.0) / 3)


@pytest.mark.parametrize(
    ("strategy", "parameters", "cause"),
    [
        ("meen", {}, "no strategy named 'meen': use one of mean, "),
        ("mean", {"skip": 1}, "strategy mean has no parameter 'skip': it has warmup"),
        ("last_summary", {"warmup": 1}, "has no parameter 'warmup'"),
        ("mean", {"warmup": -1}, "warmup is -1: a whole number from 0 up"),
        ("mean", {"warmup": 1.5}, "warmup is 1.5"),
        ("mean", {"warmup": True}, "warmup is True"),
        ("mean", {"warmup": None}, "warmup is None"),
        ("mean", {"iterations": 0}, "iterations is 0: a whole number from 1 up"),
        ("mean", {"rounding": "x"}, "no rounding named 'x'"),
        ("mean", {"average": "x"}, "no average named 'x': use one of mean"),
        ("mean", {"scope": "x"}, "no scope named 'x'"),
        ("mean", {"trim": 0.5}, "trim is 0.5"),
        ("mean", {"run": 2}, "no run 2: the log has 1"),
        ("mean", {"ranks": 3}, "no rank 3: the log does not print ranks"),
        (
            "mean",
            {"ranks": "rows", "devices": 7},
            "120 lines cannot be divided into rows of 7 devices",
        ),
        ("mean", {"warmup": 200}, "no observation after a warm-up of 200 among 120"),
        (
            "mean_after_warmup",
            {"warmup": 21},
            "120 observations, 121 needed: 21 of warm-up and 100",
        ),
        (
            "trimmed_mean",
            {"iterations": 10},
            "none of 10 observations left, 5 dropped at both ends",
        ),
        ("wall_clock", {"warmup": 0}, "120 observations: no interval from 0 to 100"),
        ("wall_clock", {"warmup": 21}, "no interval from 21 to 121"),
        ("wall_clock", {"by": "steps", "warmup": 300}, "no observation at step 300"),
        ("last_summary", {"key": "x"}, "no x in the log's summary: it has iterations"),
        ("summary_table", {}, "the log prints no table"),
    ],
)
def test_what_cannot_be_done_is_said(strategy, parameters, cause):
    with pytest.raises(ValueError, match=cause):
        result(RAMP, strategy, **parameters)


def test_what_a_summary_has_is_named_in_order():
    read = reading([1.0])
    names = ("seconds", "peak_memory_mib", "iterations", "count")
    for run in read["runs"]:
        run["summary"] = {**dict.fromkeys(names, "text"), "throughput_key": "seconds"}
    with pytest.raises(ValueError, match=r"has count, iterations, peak_memory_mib, seconds$"):
        strategies.apply(read, "last_summary", {})


def test_a_harmonic_mean_needs_rates_above_zero():
    with pytest.raises(ValueError, match="above 0"):
        result([0.0, 1.0], "harmonic_mean")


def test_ranks_are_combined_or_chosen():
    values = [10.0, 11.0, 12.0, 20.0, 21.0, 25.0]
    log = reading(values, ranks=[0, 1, 2, 0, 1, 2])

    def mean(ranks):
        return strategies.apply(log, "mean", {"ranks": ranks})["throughput"]

    assert mean("auto") == mean("median") == 16.0
    assert mean("mean") == 16.5
    assert mean("sum") == 49.5
    assert mean("all") == 16.5
    assert mean("first") == mean(0) == 15.0
    assert mean(2) == 18.5
    with pytest.raises(ValueError, match="no rank 7 in the log: it has 0, 1, 2"):
        mean(7)


def test_dlperf_cuts_lines_into_rows_whoever_printed_them():
    rows = [[10.0 + n, 11.0 + n, 30.0 + n] for n in range(120)]
    log = reading([value for row in rows for value in row], world=3)
    assert strategies.apply(log, "dlperf_mxnet")["throughput"] == 80.5
    # line 60 to line 360, a step a second: 100 rows of 3 steps of 12 images in 300 s
    assert strategies.apply(log, "dlperf_mxnet_time", {"batch_size": 4})["throughput"] == 4.0
    with pytest.raises(ValueError, match="rows of 7"):
        strategies.apply(log, "dlperf_mxnet", {"devices": 7})


def test_the_clock_counts_steps_over_epochs_that_begin_again():
    text = "".join(lines("pytorch_ngc", 40)).replace("Epoch: 0", "Epoch: 0")
    second = "".join(lines("pytorch_ngc", 80)[40:])
    for step in range(41, 81):
        second = second.replace(f"Epoch: 0 Iteration: {step} ", f"Epoch: 1 Iteration: {step - 40} ")
    log = logs.read(text + second)
    assert len(log["runs"]) == 1
    given = {"warmup": 1, "iterations": 79, "batch_size": 256}
    assert strategies.apply(log, "wall_clock", given)["throughput"] == 256.0


def test_of_several_runs_the_last_counts_or_the_one_that_is_named():
    text = "".join(lines("oneflow", 10) + lines("oneflow", 20))
    log = logs.read(text)
    assert strategies.apply(log, "mean")["count"] == 20
    assert strategies.apply(log, "mean", {"run": 1})["count"] == 10
    assert strategies.apply(log, "mean", {"run": 1})["run"] == 1


def test_seconds_become_images_with_a_batch_size():
    log = logs.read("".join(lines("paddle_fluid", 120)))
    with pytest.raises(ValueError, match="no throughput printed"):
        strategies.apply(log, "dlperf_paddle")
    found = strategies.apply(log, "dlperf_paddle", {"batch_size": 1024})
    assert (found["throughput"], found["scope"]) == (2844.44, "global")


@pytest.mark.parametrize("first", [0, 1])
def test_dlperfs_rule_for_pytorch_passes_over_the_first_iterations(first):
    """Of the lines with Iteration above 5 the 20th and the 120th.

    Versions of the program begin to count with 0 or, as in DLPerf's logs, with 1.
    """
    times = [n * n for n in range(130)]
    text = "".join(
        f"DLL 2020-12-11 {at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}.500000 - Epoch: 0"
        f" Iteration: {n}  train.loss : 7.1  train.total_ips : 300.5 img/s\n"
        for n, at in enumerate(times, first)
    )
    counted = [at for n, at in enumerate(times, first) if n > 5]
    found = strategies.apply(logs.read(text), "dlperf_pytorch_time", {"batch_size": 1280})
    assert found["throughput"] == round(1280 * 100 / (counted[119] - counted[19]), 2)


def test_only_lines_with_a_step_can_be_counted_by_it():
    log = reading(RAMP)
    log["observations"].columns["step"][5] = math.nan
    with pytest.raises(ValueError, match="120 values, but 119 steps printed with them"):
        strategies.apply(log, "mean", {"every": 10})


def test_a_step_of_several_batches_is_counted_only_where_it_is_said():
    """DLPerf's scripts for BERT take a batch from each device, whatever the log says."""
    text = "".join(lines("bert_pytorch", 130))
    known = {"batch_size_per_device": 32, "world_size": 8}
    log = logs.read(text, known=known)
    with pytest.raises(ValueError, match="set batch_size"):
        strategies.apply(log, "dlperf_pytorch_time")
    found = strategies.apply(log, "dlperf_bert_pytorch")
    assert (found["throughput"], found["steps"]) == (256.0, 100)
    found = strategies.apply(log, "dlperf_bert_pytorch", {"accumulation": 4})
    assert found["throughput"] == 1024.0
    found = strategies.apply(log, "dlperf_bert_pytorch", {"batch_size": 100})
    assert found["throughput"] == 100.0


def test_horovods_example_prints_no_space_after_batch():
    text = "".join(
        f"INFO:root:Epoch[0] Batch[{n}]\tSpeed: {300 + n / 1000:.3f} samples/sec\n"
        f"INFO:root:Epoch[0] Rank[0] Batch[{n}]\taccuracy=0.001000\tlr=0.100000\n"
        for n in range(1, 121)
    )
    found = strategies.apply(logs.read(text), "dlperf_mxnet_gluon")
    each = [round(300 + n / 1000, 2) for n in range(21, 121)]
    assert (found["throughput"], found["steps"]) == (round(sum(each) / 100, 2), 100)


def test_what_a_log_does_not_state_is_taken_from_its_path_where_it_is_a_number():
    text = "".join(lines("paddle_fluid", 120))
    for batch, figure in ((128, 2844.44), ("max", None), ("128", None), (None, None)):
        reading = logs.read(text, known={"batch_size_per_device": batch, "world_size": 8})
        found = log_facts(reading, "dlperf_paddle")
        assert found["throughput"] == figure
        assert "batch_size_per_device" not in found["identity"]


def test_a_log_longer_than_the_limit_still_has_its_mean():
    text = "".join(lines("scalebench", 1000))
    whole, short = logs.read(text), logs.read(text, limit=100)
    for strategy in ("mean", "harmonic_mean"):
        results = [strategies.apply(log, strategy, {"warmup": 20}) for log in (whole, short)]
        assert results[0] == results[1]
    assert strategies.apply(short, "mean_after_warmup", {"iterations": 80})["count"] == 80
    with pytest.raises(ValueError, match="median needs every observation; of 1000 the first 100"):
        strategies.apply(short, "median")


def test_auto_is_the_usual_strategy_of_the_reader():
    log = logs.read("".join(lines("tensorflow_official", 6)))
    assert strategies.apply(log, "auto")["strategy"]["name"] == "dlperf_tf2"


def test_auto_of_a_training_to_an_accuracy_is_that_of_the_whole_run():
    log = {"own_trainer": False, "identity": {}, "reader": "tensorflow_ngc_train"}
    assert strategies.usual(log) == "dlperf_tensorflow"
    log["identity"] = {"mode": "train_and_evaluate"}
    assert strategies.usual(log) == "ngc_last_throughput"
    assert strategies.usual({**log, "reader": "oneflow"}) == "oneflow_report"
    assert strategies.usual({**log, "own_trainer": True}) == "mean_after_warmup"


@pytest.mark.parametrize(
    ("assumed", "batch"),
    [
        ({"global_batch_size": 96, "batch_size_per_device": 8, "world_size": 4}, 96),
        ({"batch_size_per_device": 8, "world_size": 4}, 32),
        ({"batch_size_per_device": 8}, None),
        # The log says that its batch size differs: what one device has does not give it.
        ({"global_batch_size": None, "batch_size_per_device": 8, "world_size": 4}, None),
    ],
)
def test_the_clock_takes_the_batch_that_the_log_states_or_makes_it_up(assumed, batch):
    log = reading(RAMP)
    log["runs"][0]["assumed"] = assumed
    if batch is None:
        with pytest.raises(ValueError, match="does not print the global batch size"):
            strategies.apply(log, "wall_clock")
    else:
        assert strategies.apply(log, "wall_clock")["throughput"] == batch


def test_the_documentation_names_every_reader_strategy_and_parameter():
    text = (Path(__file__).parents[3] / "docs/reading-logs.md").read_text(encoding="utf-8")
    names = {*logs.READERS, *strategies.STRATEGIES}
    for strategy in strategies.STRATEGIES:
        names |= set(strategies.parameters_of(strategy))
    missing = sorted(name for name in names if f"`{name}`" not in text)
    assert not missing, "add rows to the tables of docs/reading-logs.md"


@pytest.mark.parametrize("name", sorted(strategies.STRATEGIES))
def test_the_documentation_has_the_parameters_of_a_strategy_and_whose_usual_one_it_is(name):
    rows = documented_rows("reading-logs.md", "Strategies")
    (row,) = (row for row in rows if row[0] == f"`{name}`")
    rule = strategies.STRATEGIES[name]
    given = {key: rule[key] for key in rule.keys() - {"source", "about"}}
    assert yaml.safe_load("{" + row[2] + "}") == given, "docs/reading-logs.md, Strategies"
    usual = {reader for reader, usual in strategies.USUAL.items() if usual == name}
    usual |= {reader for reader, usual in TO_ACCURACY.items() if usual == name}
    assert set(re.findall(r"`(\w+)`", row[3])) == usual, "docs/reading-logs.md, Strategies"


def test_other_measures_are_of_the_lines_that_count():
    # A step takes one second and 8 images, whatever its line says.
    values = [60.0 if at <= 25 else 150.0 for at in range(1, 131)]
    given = {"warmup": 1, "iterations": 10}
    facts = log_facts(reading(values), "dlperf_bert_tensorflow", given)
    assert facts["throughput"] == 141.0
    assert facts["harmonic_throughput"] == round(10 / (1 / 60 + 9 / 150), 2)
    assert facts["within_run"]["mean"] == pytest.approx(141.0)
    assert facts["wall_clock_throughput"] == 8.0
