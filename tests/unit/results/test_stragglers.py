"""The rank that the others wait for, from waits whose answer is known."""

import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report.telemetry_text import (
    waits_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.results.stragglers import (
    LEVEL,
    waited_for,
)
from cpu_time import check_proportion
from report_data import campaign, waits_of


def waits(ranks, seed=0, late=0.0, who=1, since=0, noise=0.01, intervals=40):
    """Return waits of ranks whose arrivals scatter; from an interval on one is late, s."""
    draw = random.Random(seed)
    columns = []
    for interval in range(intervals):
        arrivals = [draw.gauss(0, noise) for _ in range(ranks)]
        arrivals[who] += late if interval >= since else 0.0
        columns.append([max(arrivals) + 0.02 - arrival for arrival in arrivals])
    return waits_of(0.2, zip(*columns, strict=True), every=3)


@pytest.mark.parametrize("ranks", [2, 4, 32])
@pytest.mark.parametrize("since", [0, 10, 20])
def test_it_is_named_with_its_node_and_the_first_step(ranks, since):
    """The step to within three intervals, at a change of 3.5 times the scatter."""
    for seed in range(10):
        found = waited_for(waits(ranks, seed, late=0.05, since=since))
        assert (found["rank"], found["node"]) == (1, "node2")
        assert abs(found["since"] - (since * 3 + 1)) <= 9
        assert found["seconds"] == pytest.approx(0.05, abs=0.015)
        assert found["share"] == pytest.approx(found["seconds"] / 0.2)


@pytest.mark.parametrize("intervals", [1030, 1200])
def test_more_intervals_than_a_float_can_count_ways(intervals):
    found = waited_for(waits(3, late=0.05, since=600, intervals=intervals))
    assert found["rank"] == 1 and abs(found["since"] - 1801) <= 9


def test_ranks_may_stand_in_any_order():
    found = waited_for(waits(4, late=0.05)[::-1])
    assert (found["rank"], found["node"]) == (1, "node2")


def on_nodes(made, each):
    """Return waits whose ranks are on nodes with so many of them each."""
    return [{**one, "node": f"node{one['rank'] // each + 1}"} for one in made]


@pytest.mark.parametrize(("nodes", "each"), [(2, 2), (2, 4), (2, 8), (4, 8)])
def test_a_node_is_named_whose_ranks_are_late_together(nodes, each):
    for seed in range(10):
        made = waits(nodes * each, seed)
        for place in range(40):
            for one in made[:each]:
                one["wait_seconds"][place] -= 0.05
        found = waited_for(on_nodes(made, each))
        assert (found["rank"], found["node"]) == (None, "node1")
        assert found["seconds"] == pytest.approx(0.05, abs=0.01)
    one = waited_for(on_nodes(waits(nodes * each, late=0.05), each))
    assert (one["rank"], one["node"]) == (1, "node1")


@pytest.mark.parametrize("each", [1, 2, 4])
@pytest.mark.parametrize("ranks", [2, 4, 32])
def test_of_equal_ranks_none_is_named_more_often_than_said(ranks, each):
    made = (on_nodes(waits(ranks, seed), each) for seed in range(150))
    named = sum(waited_for(one) is not None for one in made)
    assert named <= 150 * LEVEL + 3


def test_what_is_too_little_of_a_step_or_too_short_is_not_named():
    assert waited_for(waits(4, late=0.003, noise=1e-5)) is None
    assert waited_for(waits(4, late=0.006, noise=1e-5)) is not None
    assert waited_for(waits(4, late=0.05, since=38)) is None
    assert waited_for(waits(2, late=0.05, intervals=4)) is None


def test_without_waits_there_is_nothing_to_say():
    (alone,) = waits(1, who=0)
    assert [waited_for(one) for one in ([], [alone], [{**alone, "wait_seconds": []}] * 2)] == [
        *([None] * 3)
    ]


def test_the_report_says_it_in_words():
    plan, runs = campaign({"1n1g": [10.0], "2n1g": [20.0, 21.0]})
    assert waits_sections(build_results(plan, runs)) == []
    told = iter([waits(2, late=0.05, since=10), waits(2)])
    for run in runs:
        if run["cell"]["topology"] == "2n1g":
            run["facts"] = {**run["facts"], "waits": next(told)}
    results = build_results(plan, runs)
    (section,) = waits_sections(results)
    text = str(section)
    assert "repeat 1: the others wait for rank 1 on node2 since step 31, " in text
    assert "repeat 2: no rank stands out." in text
    (table,) = section["tables"]
    assert [one["name"] for one in table["columns"]] == [
        *("cell", "repeat", "rank", "node", "wait, ms", "step, ms")
    ]
    results["cells"][1]["repeats"][0]["waits"][1].update(input_seconds=0.5, core_wait_seconds=0.25)
    (known,) = waits_sections(results)[0]["tables"]
    assert [one["name"] for one in known["columns"]][5:7] == ["input, ms", "no core, ms"]
    assert [cell["value"] for cell in known["rows"][1][5:7]] == [500, 250]
    assert [cell["value"] for cell in known["rows"][0][5:7]] == [None, None]
    assert len(table["rows"]) == 4


def test_time_grows_with_the_ranks():
    def made(ranks):
        return on_nodes(waits(ranks, intervals=2), 2)

    check_proportion(waited_for, [made(1000)], [made(4000)])
