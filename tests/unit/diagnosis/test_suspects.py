import math
import random
import re
import sys
from statistics import NormalDist, fmean, median, stdev

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.causes import (
    table_of_pairs,
    tables_alone,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.effects import (
    _looked_at,
    find,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.kinds import KINDS
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.repeats import (
    Figures,
    noise,
    of_repeats,
    precision_at,
    undisturbed,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import (
    SLOW,
    SOUND,
    UNDECIDED,
    judge,
)
from campaign_data import ROOT
from diagnosis_data import measured, named, two_racks

DIAGNOSE, RESULTS = (
    (ROOT / f"docs/{name}.md").read_text() for name in ("diagnose", "results-files")
)

CASES = [
    ({"node": {2: 0.10}}, {("node", "node3")}),
    ({"network": {1: 0.20}}, {("network", "node2")}),
    ({"link": {(0, 3): 0.20}}, {("link", "node1 - node4")}),
    ({"node": {2: 0.3}, "network": {2: 0.3}}, {("node", "node3")}),
    ({"link": {(0, 1): 0.2}, "node": {3: 0.3}}, {("link", "node1 - node2"), ("node", "node4")}),
    # Several of one kind, of which each makes the other look usual.
    ({"node": {0: 0.2, 2: 0.2}}, {("node", "node1"), ("node", "node3")}),
    ({"network": {0: 0.2, 1: 0.2}}, {("network", "node1"), ("network", "node2")}),
    (
        {"link": {(0, 1): 0.2, (0, 3): 0.2}},
        {("link", "node1 - node2"), ("link", "node1 - node4")},
    ),
    (
        {"link": {(0, 1): 0.2}, "network": {3: 0.5}},
        {("link", "node1 - node2"), ("network", "node4")},
    ),
    # A slow link of a node that is slow itself, with and without the same deficit.
    ({"link": {(0, 1): 0.2}, "node": {0: 0.2}}, {("link", "node1 - node2"), ("node", "node1")}),
    (
        {"link": {(0, 1): 0.5}, "network": {0: 0.2}},
        {("link", "node1 - node2"), ("network", "node1")},
    ),
    # Disturbed repeats.
    ({"link": {(0, 3): 0.2}, "disturbed": 0.05}, {("link", "node1 - node4")}),
    ({"node": {2: 0.10}, "disturbed": 0.05}, {("node", "node3")}),
    ({"disturbed": 0.05}, set()),
    ({}, set()),
]


@pytest.mark.parametrize("count", [4, 8])
@pytest.mark.parametrize(("deficits", "expected"), CASES)
def test_the_cause_is_named_and_nothing_else(count, deficits, expected):
    found = [named(judge(measured(count, seed, **deficits), {})) for seed in range(20)]

    assert found.count(expected) >= 19, found


def test_what_a_repeat_has_in_common_is_no_noise():
    data = measured(4, 1, node={2: 0.2})
    for rows in (data["pairs"], data["alone"]):
        for repeat in range(max(len(row["rates"]) for row in rows)):
            common = math.exp(random.Random(repeat).gauss(0, 0.3))
            for row in rows:
                row["rates"][repeat : repeat + 1] = [
                    rate * common for rate in row["rates"][repeat : repeat + 1]
                ]
    assert named(judge(data, {})) == {("node", "node3")}


# Two of its repeats lost half: nobody can tell which are the usual ones.
UNSURE = [110.0, 55.0, 54.0, 109.0, 56.0]


def with_an_unsure_pair(seed, of_the_slow_node):
    data = measured(8, seed, network={0: 0.1})
    one = next(one for one in data["pairs"] if ("node1" in one["nodes"]) == of_the_slow_node)
    one["rates"] = list(UNSURE)
    return judge(data, {})


def test_an_unsure_pair_hides_nothing_and_counts_less():
    for seed in range(20):
        assert ("network", "node1") in named(with_an_unsure_pair(seed, False))
        for suspect in with_an_unsure_pair(seed, True)["suspects"]:
            assert 9 <= suspect["deficits"][0]["deficit"] <= 11.5


def test_one_slow_device_of_two_is_not_its_node():
    for seed in range(10):
        data = measured(4, seed, devices=2, device={(1, 1): 0.3})
        assert named(judge(data, {})) == {("device", "node2 1")}


def test_a_slow_node_whose_pairs_are_hardly_slower_has_no_slow_network():
    for seed in range(20):
        data = measured(8, seed, node={2: 0.2}, network={2: 0.22})
        assert named(judge(data, {})) == {("node", "node3")}


def test_one_disturbed_sweep_of_a_slow_node_hides_no_link_of_its_own():
    data = measured(8, 1, link={(0, 1): 0.2}, node={0: 0.2})
    for row in data["pairs"]:
        if "node1" in row["nodes"]:
            row["rates"][0] *= 0.6
    assert named(judge(data, {})) == {("node", "node1"), ("link", "node1 - node2")}


def test_a_cause_within_a_slow_one_is_judged_by_what_it_lacks_more():
    figures = {
        name: [level + 0.01 * step for step in (-2, -1, 0, 1, 2)]
        for name, level in zip("abcdefgh", (-0.2, -0.27, -0.2, 0, 0, 0, 0, 0), strict=True)
    }
    causes = {"abc": frozenset("abc"), **{name: frozenset(name) for name in figures}}
    found = find(figures, causes, [frozenset(name) for name in figures], 20).deficits
    (inside,) = [one for one in found if one.name == "b"]
    assert inside.p == pytest.approx(0.0104, rel=0.05)


def test_how_well_figures_are_known_follows_from_repeats_and_differences():
    """By hand: the median of the variances, and those weighted by their degrees of freedom."""
    of_one = Figures({"a": 0.0}, {"a": 4e-4}, 20.0, [])
    assert precision_at(of_one, 4e-4, 96.0).variances["a"] == pytest.approx(4.04e-4)
    of_three = Figures({}, {"a": 1e-4, "b": 1e-4, "c": 1.0}, 9.0, [])
    assert noise(of_three) ** 2 == pytest.approx(2e-4)


@pytest.mark.parametrize(("count", "noise"), [(4, 0.2), (8, 0.1), (16, 0.1)])
def test_a_node_whose_pairs_scatter_is_seldom_slow_and_makes_no_other_slow(count, noise):
    data = [measured(count, seed, scattered=(0, noise)) for seed in range(1000, 1100)]
    found = [{subject for _, subject in named(judge(one, {}))} for one in data]
    assert sum(bool(one) for one in found) <= 4
    assert not any("node1" not in subject.split(" - ") for one in found for subject in one)


def test_slow_nodes_among_many_are_named():
    expected = {("network", "node41"), ("network", "node8"), ("node", "node3")}
    for seed in range(3):
        data = measured(64, seed, network={40: 0.1, 7: 0.2}, node={2: 0.1})
        assert named(judge(data, {})) == expected


def test_half_of_the_nodes_can_be_slow():
    slow = dict.fromkeys(range(4), 0.2)
    assert named(judge(measured(8, 1, network=slow, node=slow), {})) == {
        ("node", f"node{number + 1}") for number in slow
    }


@pytest.mark.parametrize("deficit", [0.1, 0.5])
def test_a_slow_group_is_named_and_not_its_nodes_and_links(deficit):
    racks = two_racks(8, 3)
    slow = dict.fromkeys(range(3), deficit)

    assert named(judge(measured(8, 1, network=slow), racks)) == {("group", "rack1")}


def test_a_slow_node_is_told_by_the_pairs_that_its_group_does_not_slow_down_more():
    racks = two_racks(8, 3)

    verdict = judge(measured(8, 1, across=(3, 0.5), network={0: 0.2}), racks)

    assert named(verdict) == {("uplink", "rack1 and rack2"), ("network", "node1")}


def test_slow_pairs_of_a_slow_node_are_its_own_and_named():
    slow = {"node": {2: 0.3}, "link": {(0, 2): 0.25, (1, 2): 0.25}}

    [suspect] = judge(measured(4, 1, **slow), {})["suspects"]

    assert (suspect["kind"], suspect["subject"]) == ("node", "node3")
    assert [one["test"] for one in suspect["deficits"]] == [
        *("matrix_product", "memory_copy", "training_step", "mean of the tests"),
        *("pair_transfer node1 - node3", "pair_transfer node2 - node3"),
    ]


def test_the_mean_of_the_tests_names_a_node_that_none_of_them_names():
    cases = [measured(8, seed, node={0: 0.1}, noise=0.05, unlike=0.02) for seed in range(20)]

    suspects = [suspect for one in cases for suspect in judge(one, {})["suspects"]]

    assert {suspect["subject"] for suspect in suspects} == {"node1"}
    tests = [[one["test"] for one in suspect["deficits"]] for suspect in suspects]
    assert tests.count(["mean of the tests"]) >= 3


def test_sound_nodes_that_differ_more_than_assumed_are_seldom_suspects():
    found = [judge(measured(4, n, noise=0.005, unlike=0.02), {})["suspects"] for n in range(100)]

    assert sum(map(bool, found)) <= 1


def test_a_pair_is_not_slow_by_repeats_that_disagree():
    data = measured(8, 1)
    data["pairs"][5]["rates"] = [110.0, 55.0, 54.0, 109.0, 56.0]

    verdict = judge(data, {})

    assert verdict["suspects"] == []
    assert verdict["unsure"] == [f"pair_transfer {' - '.join(data['pairs'][5]['nodes'])}"]
    assert (verdict["verdict"], verdict["seen"]["link"] > 30) == (UNDECIDED, True)


@pytest.mark.parametrize("count", [3, 4, 5])
def test_a_pair_that_was_disturbed_and_is_sound_when_measured_again_is_no_suspect(count):
    for seed in range(20):
        data = measured(count, seed, noise=0.01)
        sound = [[*pair["rates"][:5]] for pair in data["pairs"]]
        for disturbed in (0.1, 0.2, 0.3):
            for pair, rates in zip(data["pairs"], sound, strict=True):
                pair["rates"] = [*rates]
            again = random.Random(seed)
            data["pairs"][0]["rates"] = [
                *(rate * (1 - disturbed) for rate in sound[0]),
                *(rate * math.exp(again.gauss(0, 0.01)) for rate in sound[0]),
            ]
            assert judge(data, {})["suspects"] == [], (seed, disturbed)


def test_a_node_without_a_pair_leaves_it_undecided():
    data = measured(4, 1)
    data["pairs"] = [pair for pair in data["pairs"] if "node1" not in pair["nodes"]]
    verdict = judge(data, {})
    assert (verdict["verdict"], verdict["seen"]["network"]) == (UNDECIDED, 100.0)


def test_a_node_without_figures_of_its_own_leaves_it_undecided():
    data = measured(4, 1)
    data["alone"] = [row for row in data["alone"] if row["node"] != "node1"]
    verdict = judge(data, {})
    assert (verdict["verdict"], verdict["seen"]["node"]) == (UNDECIDED, 100.0)


def test_noise_that_hides_large_deficits_leaves_it_undecided():
    assert judge(measured(4, 1, noise=0.02), {})["verdict"] == SOUND
    assert judge(measured(4, 2, noise=0.2), {})["verdict"] == UNDECIDED
    assert judge(measured(4, 1, noise=0.02, link={(0, 1): 0.5}), {})["verdict"] == SLOW
    # A deficit is at most 100 %.
    assert set(judge(measured(4, 2, noise=10.0), {})["seen"].values()) == {100.0}


def test_the_way_out_of_a_group_is_told_from_its_nodes():
    racks = two_racks(8, 3)

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


def share_of_found(count, groups, kind, **slow):
    found = [judge(measured(count, seed, **slow), groups)["suspects"] for seed in range(40)]
    return sum(kind in (suspect["kind"] for suspect in one) for one in found) / 40


def test_what_would_have_been_seen_is_seen():
    seen = judge(measured(8, 1), {})["seen"]

    assert set(seen) == {"node", "network", "link"}
    assert max(seen.values()) < 20
    share = fmean(judge(measured(8, seed), {})["seen"]["link"] for seed in range(10)) / 100
    assert share_of_found(8, {}, "link", link={(0, 1): share}) >= 0.85
    assert share_of_found(8, {}, "link", link={(0, 1): 0.6 * share}) <= 0.5


@pytest.mark.parametrize(
    ("count", "kind", "first"),
    [
        *((4, "network", 0), (8, "network", 0)),
        *((4, "uplink", 2), (8, "uplink", 4), (8, "uplink", 2), (16, "uplink", 2)),
    ],
)
def test_what_would_have_been_seen_of_several_pairs_is_seen(count, kind, first):
    groups = two_racks(count, first) if kind == "uplink" else {}
    shares = [judge(measured(count, seed), groups)["seen"][kind] for seed in range(10)]
    share = fmean(shares) / 100
    # Of a small rack among many the bound is that of telling it from the slow group, and cautious.
    cautious = count > 2 * first > 0
    for of_seen, least, most in ((1.0, 0.85, 1.0), (0.6, 0.0, 0.5))[: 1 if cautious else 2]:
        deficit = of_seen * share
        slow = {"across": (first, deficit)} if kind == "uplink" else {"network": {0: deficit}}
        assert least <= share_of_found(count, groups, kind, **slow) <= most


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
    verdict = judge(one, {})
    assert named(verdict) == {("device", "node2 3")}
    # Of one test there is no mean.
    assert [found["test"] for found in verdict["suspects"][0]["deficits"]] == ["matrix_product"]

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
        find({"a": [1.0], "b": [1.0]}, {}, [], 1)


def test_the_error_is_not_below_what_the_repeats_say():
    # The medians of the sound figures are alike by chance.
    figures = {name: [-0.3, -0.1, 0.0, 0.1, 0.3] for name in "abcde"}
    figures["e"] = [value - 0.2 for value in figures["e"]]
    causes = {name: frozenset({name}) for name in figures}
    nodes = list(causes.values())
    assert find(figures, causes, nodes, 5).deficits == []

    quiet = {name: [value / 100 for value in values] for name, values in figures.items()}
    quiet["e"] = [value - 0.2 for value in quiet["a"]]
    assert [one.name for one in find(quiet, causes, nodes, 5).deficits] == ["e"]


def test_figures_that_differ_count_with_their_own_few_degrees_of_freedom():
    # Four figures of hardly any noise, sound ones 2.5 % apart: they are three, not four times 9.
    figures = {
        name: [value - 1e-4, value, value + 1e-4] * 3
        for name, value in (("a", -0.025), ("b", 0.0), ("c", 0.025), ("d", -0.1))
    }
    causes = {name: frozenset({name}) for name in figures}

    assert find(figures, causes, list(causes.values()), 20).deficits == []


def test_where_noise_is_larger_than_the_tolerance_a_deficit_must_be_clearer():
    def found(deficit):
        figures = {
            name: [level + 0.12 * step for step in (-6, -4, -2, 0, 2, 4, 6)]
            for name, level in zip("abcdef", (0, 0.01, -0.01, 0.02, 0, -deficit), strict=True)
        }
        causes = {name: frozenset({name}) for name in figures}
        return find(figures, causes, list(causes.values()), 20)

    # At 0.85 p is 0.015 with the tolerance of 0.03 and 0.011 without it.
    assert found(0.85).deficits == []
    (deficit,) = found(0.9).deficits
    assert (deficit.p, deficit.by_chance) == (
        pytest.approx(0.0083, rel=0.01),
        pytest.approx(0.0059, rel=0.01),
    )
    # Student t of the degrees of freedom, at 0.975.
    assert (deficit.high - deficit.low) / 2 == pytest.approx(0.4805, rel=1e-3)
    # 0.86 is found in every second case; 1.7 standard errors more in 95 of 100.
    error = 0.12 * math.sqrt(112 / 6 / 7 * 6 / 5 * (1 + 1 / 5))
    assert -math.log(1 - found(0).seen["f"]) == pytest.approx(0.86 + 1.7 * error, abs=0.03)


def test_a_group_that_every_pair_touches_is_said_to_be_unseen():
    rack = {"rack1": ["node1", "node2", "node3"]}
    with_rack, without = (judge(measured(4, 1), groups) for groups in (rack, {}))
    assert with_rack["unseen"] == ["group rack1"]
    assert (without["unseen"], with_rack["comparisons"]) == ([], without["comparisons"])


def test_a_figure_that_scatters_much_more_than_the_others_has_its_own_variance():
    dice = random.Random(1)
    figures = {str(name): [dice.gauss(0, 0.01) for _ in range(10)] for name in range(6)}
    figures["5"] = [10 * value for value in figures["5"]]
    found = of_repeats(figures)
    assert found.unsure == ["5"]
    assert found.variances["5"] > 50 * found.variances["4"]


def test_the_noise_of_repeats_is_that_of_the_undisturbed():
    dice = random.Random(1)
    figures = {str(name): [dice.gauss(0, 0.02) for _ in range(10)] for name in range(200)}
    clean = of_repeats(figures)
    assert math.sqrt(10 * clean.variances["0"]) == pytest.approx(0.02, rel=0.05)
    assert stdev(clean.values.values()) == pytest.approx(0.02 / math.sqrt(10), rel=0.1)
    assert clean.freedom >= 1790

    for name in range(0, 200, 4):
        figures[str(name)][2] -= 0.5
    figures["1"][:5] = [-0.5, -0.51, -0.49, -0.5, -0.52]
    found = of_repeats(figures)

    assert found.variances["3"] == pytest.approx(clean.variances["3"], rel=0.05)
    assert found.variances["0"] == pytest.approx(found.variances["3"] * 10 / 9)
    assert found.values["0"] == pytest.approx(0, abs=0.04)
    assert found.unsure == ["1"]
    assert math.sqrt(found.variances["1"]) > 0.09


def test_only_disturbed_repeats_are_replaced_by_the_median():
    usual = {"1": [-0.01, 0.0, 0.01], "2": [0.09, 0.1, 0.11]}
    assert undisturbed(usual) == usual
    assert undisturbed({**usual, "3": [0.0, 0.01, 0.5]}) == {**usual, "3": [0.0, 0.01, 0.01]}


def test_a_figure_of_few_repeats_with_a_disturbed_one_is_known_badly():
    dice = random.Random(1)
    figures = {str(name): [dice.gauss(0, 0.02) for _ in range(5)] for name in range(200)}
    clean = of_repeats(figures)
    figures["0"][2] -= 0.5
    found = of_repeats(figures)
    assert found.values["0"] == pytest.approx(clean.values["0"], abs=0.02)
    # The disturbed one counts as one of four standard deviations, so five have 16 / 2 variances.
    assert 6 < found.variances["0"] / clean.variances["0"] * 4 / 5 < 14


@pytest.mark.parametrize(
    ("count", "uneven"), [(8, (0.1, 0.1)), (16, (0.1, 0.1)), (8, (0.25, 0.08))]
)
def test_links_that_scatter_more_than_others_are_seldom_suspects(count, uneven):
    found = [judge(measured(count, seed, uneven=uneven), {})["suspects"] for seed in range(60)]
    assert sum(map(bool, found)) <= 3


@pytest.mark.parametrize("change", [-0.3, -0.1, 0.3])
def test_another_speed_of_the_network_in_the_repeated_rounds_names_nobody_else(change):
    for seed in range(10):
        data = measured(16, seed, link={(0, 3): 0.2})
        for row in data["pairs"]:
            row["rates"][5:] = [rate * (1 + change) for rate in row["rates"][5:]]
        assert named(judge(data, {})) == {("link", "node1 - node4")}, seed


def racks_of(count, number):
    return {
        f"rack{one}": [f"node{n + 1}" for n in range(one, count, number)] for one in range(number)
    }


def slow_across(data, racks, share, only=()):
    """Slow down the pairs of nodes of two racks, of only some racks if these are given."""
    of = {node: rack for rack, nodes in racks.items() for node in nodes}
    for row in data["pairs"]:
        ends = {of[node] for node in row["nodes"]}
        if len(ends) == 2 and (not only or ends & {*only}):
            row["rates"] = [rate * (1 - share) for rate in row["rates"]]
    return data


@pytest.mark.parametrize(("count", "number"), [(6, 3), (8, 4), (16, 4), (12, 3)])
def test_a_fabric_that_is_slow_between_all_groups_is_one_suspect(count, number):
    racks = racks_of(count, number)
    every = ("fabric", " and ".join(racks))
    found = [
        named(judge(slow_across(measured(count, seed), racks, 0.3), racks)) for seed in range(20)
    ]
    assert found.count({every}) >= 19, found
    if number == 3:
        # Without those of one rack nothing but two racks is left.
        return
    data = slow_across(measured(count, 1, node={0: 0.3}), racks, 0.2)
    data = slow_across(data, racks, 0.5, only=["rack1"])
    assert named(judge(data, racks)) == {every, ("uplink", "rack1"), ("node", "node1")}


@pytest.mark.parametrize("only", [["rack1"], ["rack1", "rack2"]])
def test_ways_out_of_some_groups_are_no_slow_fabric(only):
    racks = racks_of(16, 4)
    for seed in range(10):
        data = slow_across(measured(16, seed), racks, 0.3, only=only)
        assert named(judge(data, racks)) == {("uplink", name) for name in only}


def test_a_fabric_of_which_few_pairs_within_racks_were_measured_is_unseen():
    racks = {f"rack{one}": [f"node{4 * one + two}" for two in range(1, 5)] for one in range(12)}
    verdict = judge(slow_across(measured(48, 1), racks, 0.3), racks)
    fabric = f"fabric {' and '.join(sorted(racks))}"
    assert verdict["unseen"] == [fabric] and "fabric" not in verdict["seen"]


def test_groups_that_share_nodes_have_no_fabric_between_them():
    racks = {**racks_of(8, 4), "row": ["node1", "node2", "node3"], "other": ["node1", "node2"]}
    assert "fabric" not in judge(measured(8, 1), racks)["seen"]
    nested = {**racks_of(8, 4), "row": ["node1", "node5", "node2", "node6"]}
    assert "fabric" in judge(measured(8, 1), nested)["seen"]


def test_a_rack_without_a_measured_pair_inside_is_no_slow_way_out():
    racks = {f"rack{one}": [f"node{4 * one + two}" for two in range(1, 5)] for one in range(12)}
    data = measured(48, 1)
    slow = next(
        name
        for name, nodes in racks.items()
        if not any({*row["nodes"]} <= {*nodes} for row in data["pairs"])
    )
    for row in data["pairs"]:
        if {*row["nodes"]} & {*racks[slow]}:
            row["rates"] = [0.7 * rate for rate in row["rates"]]
    assert named(judge(data, racks)) == {("group", slow)}


def test_disturbed_repeats_of_several_tests_seldom_make_a_device_a_suspect():
    found = [judge(measured(8, seed, devices=8, disturbed=0.1), {}) for seed in range(60)]
    # Without the median in their place 19 of 60.
    assert sum(bool(one["suspects"]) for one in found) <= 11


def test_p_is_corrected_for_the_number_of_comparisons():
    data = measured(8, 1, link={(0, 1): 0.12})
    figures = {"-".join(row["nodes"]): row["rates"] for row in data["pairs"]}
    figures = {name: [math.log(rate) for rate in rates] for name, rates in figures.items()}
    causes = {"node1-node2": frozenset({"node1-node2"})}

    few, many = (find(figures, causes, [], count).deficits[0].p for count in (1, 50))

    assert many / few == pytest.approx(50)


def test_of_causes_that_were_found_or_cover_everything_no_visible_deficit_is_stated():
    figures = {name: [0.0, 0.01, -0.01] for name in "abcdef"}
    figures["a"] = [-0.5, -0.49, -0.51]
    causes = {name: frozenset(name) for name in figures}
    causes["all"] = frozenset(figures)
    found = find(figures, causes, [frozenset(name) for name in figures], 6)
    assert [one.name for one in found.deficits] == ["a"]
    assert set(found.seen) == set("bcdef")


def test_figures_of_a_cause_lower_the_median_as_much_as_stated():
    count = 100_000
    normal = NormalDist()
    for share in (0.1, 0.25, 0.4):
        usual = [normal.inv_cdf((one + 0.5) / count) for one in range(count)]
        slow = [-math.inf] * round(count * share / (1 - share))
        stated = _looked_at(share, 1.0, 0.0, 0.0)
        assert stated == pytest.approx(-median([*slow, *usual]), abs=1e-3)


def test_every_kind_is_in_the_documentation_and_found_somewhere():
    listed = {
        kind
        for row in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", DIAGNOSE, re.M)
        for kind in re.findall(r"\w+", row)
    }
    assert {*KINDS} <= listed
    (stated,) = re.findall(r"^\| `suspects` \| list \| `kind` \(([^)]*)\)", RESULTS, re.M)
    assert stated.split(", ") == [*KINDS]
    four = {f"rack{number}": [f"node{2 * number + one}" for one in (1, 2)] for number in range(4)}
    made = [*tables_alone(measured(8, 1, devices=2)), table_of_pairs(measured(8, 1), four)]
    causes = {name.partition(":")[0] for table in made for name in table.causes}
    assert causes == {*KINDS}


def test_the_work_grows_with_the_devices_of_a_cluster():
    def calls(count):
        slow = {(node, 0): 0.2 for node in range(0, count, 8)}
        data = {**measured(count, 1, devices=8, device=slow), "pairs": []}
        table = tables_alone(data)[-1]
        seen = []
        sys.setprofile(lambda _frame, event, _of: seen.append(event) if event == "call" else None)
        try:
            found = find(table.figures, table.causes, table.nodes, len(table.causes))
        finally:
            sys.setprofile(None)
        assert len(found.deficits) == len(slow)
        return len(seen)

    # With a suspect among every 64 devices.
    assert calls(64) < 5 * calls(16)
