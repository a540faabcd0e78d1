"""Checks across cells, on printed speeds of the reference efforts, impossible and odd ones."""

from __future__ import annotations

import math
import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.results.cells import (
    add_facts,
    measure_cell,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.checks import (
    RULES,
    broken,
    warnings,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.repeats import repeat_of
from report_data import REFERENCE_004, campaign


def measured(speeds, *others):
    """Cells of {topology: speeds}, and of further (speeds, changes to their cells)."""
    plan, runs = campaign(speeds, device="gpu", data="synthetic", data_backend="native")
    for more, changes in others:
        same = {"device": "gpu", "data": "synthetic", "data_backend": "native"}
        other, records = campaign(more, **{**same, **changes})
        plan["cells"] += other["cells"]
        runs += records
    cells = [
        measure_cell(cell, [repeat_of(run) for run in runs if run["cell"] is cell])
        for cell in plan["cells"]
    ]
    add_facts(cells)
    return cells


def entries(found):
    """Return (precision, variant, topology, rule) of everything found."""
    return [(*key[1:3], key[4], one["rule"]) for key, group in found.items() for one in group]


def around(speed):
    """Five repeats within 0.5 % of a speed."""
    return [round(speed * factor, 2) for factor in (0.998, 1.0, 1.001, 0.999, 1.003)]


def test_reference_004_breaks_nothing_and_its_slow_pair_of_gpus_is_told():
    cells = measured(REFERENCE_004)
    assert broken(cells) == {}
    # 322 images/s a GPU on two, 340 on four: the reference prints speed-ups of 1.83 and 3.85.
    assert entries(warnings(cells, {})) == [("fp32", "bz4", "1n4g", "efficiency_not_growing")]


def test_a_speedup_beyond_the_ideal_is_broken():
    cells = measured({"1n1g": around(100), "1n2g": around(212)})
    (((*_, topology), (entry,)),) = broken(cells).items()
    assert topology == "1n2g"
    assert entry == {
        "rule": "speedup_at_most_ideal",
        "detail": "speed-up 2.12 on 2 device(s), more than 1.05 x ideal: either 1n2g is too fast"
        " or 1n1g too slow",
    }
    assert broken(cells, tolerance=1.07) == {}
    assert broken(measured({"1n1g": around(100), "1n2g": around(208)})) == {}


def test_an_interval_just_above_the_ideal_is_enough():
    cells = measured({"1n1g": around(100), "1n2g": [206.0, 210.0, 214.0, 218.0, 222.0]})
    assert 2 < cells[1]["speedup_interval"]["low"] < 2.1 < cells[1]["speedup"]
    assert entries(broken(cells)) == [("fp32", "bz4", "1n2g", "speedup_at_most_ideal")]


@pytest.mark.parametrize(("speed", "count"), [(245.0, 0), (255.0, 1)])
def test_one_repeat_may_be_noise_up_to_a_quarter(speed, count):
    assert len(broken(measured({"1n1g": [100.0], "1n2g": [speed]}))) == count


@pytest.mark.parametrize("repeats", [1, 2, 3, 5, 13])
def test_noise_of_5_percent_makes_no_cell_invalid(repeats):
    chance = random.Random(3)
    wrong = 0
    for _ in range(300):
        one, two = (
            [round(size * math.exp(chance.gauss(0, 0.05)), 2) for _ in range(repeats)]
            for size in (100, 200)
        )
        wrong += bool(broken(measured({"1n1g": one, "1n2g": two})))
    assert wrong <= 5


def test_a_speedup_that_noise_explains_is_not_broken():
    noisy = {"1n1g": [90.0, 95.0, 110.0, 93.0, 112.0], "1n2g": around(212)}
    assert broken(measured(noisy)) == {}


def test_a_cell_without_a_baseline_breaks_nothing():
    assert broken(measured({"1n2g": around(212)})) == {}


AMP = {"precision": "amp"}
REAL = {"data": "real", "variant": "bz4-real"}
DALI = {**REAL, "data_backend": "dali", "variant": "bz4-dali-real"}


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([(around(90), AMP)], ("amp", "bz4", "amp_not_slower")),
        ([(around(110), REAL)], ("fp32", "bz4", "real_not_faster")),
        (
            [(around(80), REAL), (around(70), DALI)],
            ("fp32", "bz4-dali-real", "dali_not_slower"),
        ),
    ],
)
def test_a_variant_that_should_be_faster_and_is_not(others, expected):
    cells = measured({"1n1g": around(100)}, *(({"1n1g": s}, c) for s, c in others))
    precision, variant, rule = expected
    assert entries(warnings(cells, {})) == [(precision, variant, "1n1g", rule)]


def test_the_order_that_is_expected_warns_of_nothing():
    variants = [(around(260), AMP), (around(80), REAL), (around(95), DALI)]
    cells = measured({"1n1g": around(100)}, *(({"1n1g": s}, c) for s, c in variants))
    assert warnings(cells, {}) == {}


def test_amp_on_a_cpu_may_be_slower():
    cells = measured({"1n1g": around(100)}, ({"1n1g": around(90)}, AMP))
    assert warnings([{**cell, "device": "cpu"} for cell in cells], {}) == {}


def test_more_devices_that_are_slower():
    cells = measured({"1n1g": around(100), "1n2g": around(95)})
    ((key, (entry,)),) = warnings(cells, {}).items()
    assert (key[4], entry["rule"]) == ("1n2g", "more_devices_not_slower")
    assert entry["detail"] == "95.0 with 1n2g, but 100.0 with 1n1g"


def test_oversubscribed_processes_are_expected_to_be_slower():
    cells = measured({"1n1g": around(100), "2n1g": around(95)})
    assert warnings([{**cell, "oversubscribed": cell["nodes"] > 1} for cell in cells], {}) == {}


@pytest.mark.parametrize(
    ("device", "machines", "warned"),
    [
        ("cpu", {"a": "one", "b": "one"}, False),
        ("cpu", {"a": "one", "b": "two"}, True),
        ("cpu", {}, True),
        ("gpu", {"a": "one", "b": "one"}, True),
    ],
)
def test_cpu_nodes_that_share_cores_may_be_slower(device, machines, warned):
    cells = measured({"1n1g": around(100), "2n1g": around(95)})
    cells = [{**cell, "device": device, "node_names": ["a", "b"]} for cell in cells]
    assert bool(warnings(cells, machines)) == warned


def test_topologies_that_are_no_part_of_each_other_are_not_compared():
    # Devices of one node are faster each than one of each node: another path.
    assert warnings(measured({"4n1g": around(200), "1n8g": around(700)}), {}) == {}
    assert warnings(measured({"1n4g": around(400), "8n1g": around(300)}), {}) == {}


@pytest.mark.parametrize(
    "slower",
    [
        [95.0, 99.5, 101.0, 97.0, 100.5],  # within the noise
        around(99),  # certain, and of no weight
        [80.0, 81.0],  # two repeats
        [80.0],
        [None, None],
    ],
)
def test_what_may_be_chance_warns_of_nothing(slower):
    cells = measured({"1n1g": around(100)}, ({"1n1g": slower}, AMP))
    assert warnings(cells, {}) == {}


def test_every_rule_says_what_it_is_and_where_from():
    assert all(rule["about"] and rule["source"] for rule in RULES.values())
