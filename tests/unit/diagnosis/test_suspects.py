import math
from statistics import fmean

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis import effects
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.effects import find
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import judge
from diagnosis_data import measured, named

CASES = [
    ({"node": {2: 0.10}}, {("node", "node3")}),
    ({"network": {1: 0.20}}, {("network", "node2")}),
    ({"link": {(0, 3): 0.20}}, {("link", "node1 - node4")}),
    ({"node": {2: 0.3}, "network": {2: 0.3}}, {("node", "node3")}),
    ({"link": {(0, 1): 0.2}, "node": {3: 0.3}}, {("link", "node1 - node2"), ("node", "node4")}),
    ({}, set()),
]


@pytest.mark.parametrize("count", [4, 8])
@pytest.mark.parametrize(("deficits", "expected"), CASES)
def test_the_cause_is_named_and_nothing_else(count, deficits, expected):
    found = [named(judge(measured(count, seed, **deficits), {})) for seed in range(20)]

    assert found.count(expected) >= 19, found


def test_a_slow_node_among_many_is_named():
    for seed in range(3):
        assert named(judge(measured(64, seed, network={40: 0.2}), {})) == {("network", "node41")}


def test_the_way_out_of_a_group_is_told_from_its_nodes():
    racks = {"rack1": ["node1", "node2", "node3"], "rack2": [f"node{n}" for n in range(4, 9)]}

    verdict = judge(measured(8, 1, across=(3, 0.3)), racks)

    assert named(verdict) == {("uplink", "rack1 and rack2")}


def test_a_deficit_has_its_size_interval_and_p():
    verdict = judge(measured(8, 3, link={(2, 5): 0.5}), {})

    [suspect] = verdict["suspects"]
    [deficit] = suspect["deficits"]
    assert deficit["low"] < 50 < deficit["high"]
    assert deficit["high"] - deficit["low"] < 10
    assert deficit["p"] < 1e-6
    assert suspect["action"].startswith("only this pair is slow")


def test_what_would_have_been_seen_is_seen():
    seen = judge(measured(8, 1), {})["seen"]

    assert set(seen) == {"node", "network", "link"}
    assert seen["network"] < seen["link"] < 20
    share = fmean(judge(measured(8, seed), {})["seen"]["link"] for seed in range(10)) / 100
    found = [judge(measured(8, seed, link={(0, 1): share}), {})["suspects"] for seed in range(40)]
    assert sum(map(bool, found)) >= 34


def test_differences_within_the_tolerance_are_no_suspects():
    assert judge(measured(8, 1, node={0: 0.04}, noise=0.0001), {})["suspects"] == []


def test_a_device_is_told_from_its_node():
    one = measured(4, 1)
    one["alone"] = [
        {"test": "matrix_product", "node": node, "device": device, "rates": [rate] * 3}
        for node in one["nodes"]
        for device in range(4)
        for rate in [70.0 if (node, device) == ("node2", 3) else 100.0 + device / 10]
    ]
    assert named(judge(one, {})) == {("device", "node2 3")}

    for row in one["alone"]:
        row["rates"] = [70.0 if row["node"] == "node2" else 100.0 + row["device"] / 10] * 3
    assert named(judge(one, {})) == {("node", "node2")}


def test_bad_rates_are_named():
    one = measured(4, 1)
    one["pairs"][0]["rates"] = [1.0, 0.0]
    with pytest.raises(ValueError, match=r"node\d - node\d: the rates \[1.0, 0.0\]"):
        judge(one, {})
    one["pairs"][0]["rates"] = [1.0, 1.0]
    with pytest.raises(ValueError, match=r"measured 2 times.*at least 3 times \(-e iterations=3\)"):
        judge(one, {})
    with pytest.raises(ValueError, match="2 figures: three are needed"):
        find({"a": [1.0], "b": [1.0]}, {}, 1)


def test_the_error_is_not_below_what_the_repeats_say():
    # The medians of the sound figures are alike by chance.
    figures = {name: [-0.3, -0.1, 0.0, 0.1, 0.3] for name in "abcde"}
    figures["e"] = [value - 0.2 for value in figures["e"]]
    causes = {name: frozenset({name}) for name in figures}
    assert find(figures, causes, 5).deficits == []

    quiet = {name: [value / 100 for value in values] for name, values in figures.items()}
    quiet["e"] = [value - 0.2 for value in quiet["a"]]
    assert [one.name for one in find(quiet, causes, 5).deficits] == ["e"]


def test_each_cause_that_is_taken_costs_a_degree_of_freedom():
    rest = {name: value / 10 for value, name in enumerate("abcdef")}
    errors = [effects._try("a", frozenset("a"), rest, 0.0, 0, taken).error for taken in (0, 1, 2)]
    # Six figures, less two means.
    assert [error**2 / errors[0] ** 2 for error in errors] == pytest.approx([1, 4 / 3, 4 / 2])


def test_p_is_corrected_for_the_number_of_comparisons():
    data = measured(8, 1, link={(0, 1): 0.12})
    figures = {"-".join(row["nodes"]): row["rates"] for row in data["pairs"]}
    figures = {name: [math.log(rate) for rate in rates] for name, rates in figures.items()}
    causes = {"node1-node2": frozenset({"node1-node2"})}

    few, many = (find(figures, causes, count).deficits[0].p for count in (1, 50))

    assert many / few == pytest.approx(50)
