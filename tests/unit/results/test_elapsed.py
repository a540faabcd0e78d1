"""What decides is samples over the time of the steps; what is published, the figure of its rule."""

from __future__ import annotations

import copy
import json
import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.comparison.baseline import (
    compare_campaigns,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    check_gate,
    judge_gate,
)
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from ansible_collections.scalebench.core.plugins.module_utils.report.remarks import remarks
from ansible_collections.scalebench.core.plugins.module_utils.results import versions
from ansible_collections.scalebench.core.plugins.module_utils.results.cells import deciding_speeds
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.running.elapsed import (
    elapsed_throughput,
)
from report_data import campaign

HEADER = '[scalebench] header {"format":1,"world_size":1,"global_batch_size":8}\n'


def facts_of(seconds, strategy="mean_after_warmup", **parameters):
    """Return the facts of a log of steps of these times, with 20 of warm-up before them."""
    clock, text = 1763690000.0, HEADER
    for step, second in enumerate([0.1] * 20 + list(seconds), 1):
        clock += second
        text += (
            f"iteration {step} epoch 0 loss 6.9 throughput {8 / second:.4f} images/s"
            f" step_time {second:.6f} s time {clock:.6f}\n"
        )
    text += '[scalebench] end {"iterations":120}\n'
    return facts_of_text(text, strategy, parameters)


def results_of(slow=(), topologies=("1n1g",), name="mine", repeats=5):
    """Return results of a campaign whose steps take 0.1 s; ``slow`` are times in place of some."""
    chance = random.Random(name)
    plan, runs = campaign({topology: [1.0] * repeats for topology in topologies}, device="gpu")
    for run in runs:
        own = slow if run["cell"]["topology"] == topologies[-1] else ()
        steps = [0.1 * chance.gauss(1, 0.001) for _ in range(100 - len(own))]
        run["facts"] = facts_of([*steps, *own])
    return build_results({**plan, "campaign": name, "created": f"of {name}"}, runs)


def test_one_step_of_100_that_takes_ten_times_as_long_decides_and_is_told():
    even, uneven = results_of(name="even"), results_of([1.0])
    (cell,) = uneven["cells"]
    assert cell["median_speed"] == pytest.approx(80 * 0.991, rel=1e-3)
    assert cell["elapsed"]["median_speed"] == pytest.approx(80 / 1.09, rel=1e-3)
    (found,) = compare_campaigns(uneven, [even], 0.02, "even")["cells"]
    assert found["finding"] == "slower"
    assert found["ratio"] == pytest.approx(1 / 1.09, rel=2e-3)
    rules = check_gate({"rules": [{"min_throughput": 75}]}, with_baseline=False)
    assert not judge_gate(uneven, rules, "gate.yml")["ok"]
    assert judge_gate(even, rules, "gate.yml")["ok"]
    assert any("5 of 5 repeats had uneven steps" in said for said in remarks(uneven))
    assert remarks(even) == []


def test_one_step_in_20_at_half_the_speed_is_told_too():
    assert any("had uneven steps" in said for said in remarks(results_of([0.2] * 5)))


def test_the_speed_up_is_shown_by_the_rule_and_decided_by_the_time():
    cells = {c["topology"]: c for c in results_of([1.0], ("1n1g", "1n2g"))["cells"]}
    two = cells["1n2g"]
    assert two["speedup"] == 0.99
    assert two["elapsed"]["speedup"] == 0.92
    assert two["elapsed"]["efficiency"] == pytest.approx(1 / 1.09 / 2, abs=2e-4)
    interval = two["elapsed"]["speedup_interval"]
    assert interval["low"] < 1 / 1.09 < interval["high"] < 0.95
    assert cells["1n1g"]["elapsed"]["speedup"] == 1.0
    assert "speedup_interval" not in cells["1n1g"]["elapsed"]


def test_results_without_the_time_of_the_steps_are_compared_by_the_rule():
    ours = results_of([1.0])
    old = json.loads(json.dumps(results_of(name="old")))
    for cell in old["cells"]:
        del cell["elapsed"]
        del cell["repeats"][2]["elapsed_throughput"]
    old = versions.read(old)
    assert deciding_speeds(ours["cells"][0], old["cells"][0]) == [
        [repeat["throughput"] for repeat in side["cells"][0]["repeats"]] for side in (ours, old)
    ]
    (found,) = compare_campaigns(ours, [old], 0.02, "old")["cells"]
    assert found["ratio"] == pytest.approx(0.991, rel=2e-3)
    rules = check_gate({"rules": [{"min_throughput": 75}]}, with_baseline=False)
    assert judge_gate(old, rules, "gate.yml")["ok"]


def test_a_repeat_without_a_speed_hides_no_time():
    results = results_of([1.0])
    cell = copy.deepcopy(results["cells"][0])
    failed = {**cell["repeats"][0], "throughput": None, "ending": "crashed"}
    del failed["elapsed_throughput"]
    cell["repeats"].append(failed)
    assert deciding_speeds(cell) == [[r["elapsed_throughput"] for r in cell["repeats"][:5]]]


@pytest.mark.parametrize(
    ("strategy", "parameters", "by_time"),
    [
        ("mean_after_warmup", {}, 73.39),
        ("mean_after_warmup", {"average": "median"}, 73.39),
        ("dlperf_tensorflow", {"warmup": 20}, 73.39),
        # The first 30 of 100 steps do not contain the slow one, which is the last.
        ("mean_after_warmup", {"iterations": 30}, 80.0),
        ("mean_after_warmup", {"drop_last": 1}, 80.0),
        ("dlperf_paddle", {"iterations": 200}, 73.39),
        # One of the steps of the clock's 100 is the slow one.
        ("wall_clock", {}, 73.39),
        ("last_printed", {}, None),
    ],
)
def test_the_time_is_that_of_the_steps_that_the_rule_takes(strategy, parameters, by_time):
    facts = facts_of([0.1] * 99 + [1.0], strategy, **parameters)
    assert facts["throughput"] is not None
    assert elapsed_throughput(facts) == by_time


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"throughput": 8.0, "strategy": {"name": "last_summary", "parameters": {}}},
        {"throughput": 8.0, "strategy": {"name": "of a later version", "parameters": {}}},
        {"throughput": 8.0, "harmonic_throughput": 7.0},
    ],
)
def test_a_log_that_does_not_tell_the_time_has_none(facts):
    assert elapsed_throughput(facts) is None
