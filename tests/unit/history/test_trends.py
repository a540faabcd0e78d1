"""Only what was measured under the same conditions is one trend, and nothing is lost."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.history.trends import (
    entry,
    gather,
    select,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from history_data import nightly, results_of
from report_data import REFERENCE_004, campaign


def gathered(*results):
    return gather([entry(one, f"folder{index}") for index, one in enumerate(results)])


def test_points_are_in_order_of_the_plans_and_not_of_the_folders():
    trends, twice = gathered(*reversed(nightly([100, 101, 102])))
    (trend,) = trends
    assert not twice
    assert [point["campaign"] for point in trend["points"]] == ["c00", "c01", "c02"]
    assert [point["folder"] for point in trend["points"]] == ["folder2", "folder1", "folder0"]
    point = trend["points"][0]
    assert (point["n"], point["state"]) == (3, "measured")
    assert point["low"] <= point["median"] <= point["high"]
    assert trend["conditions"]["hardware"] == "1 x Tesla V100, 40 cores of Xeon"
    assert trend["conditions"]["unit"] == "images/s"


def test_a_trend_goes_by_the_time_of_the_steps_where_every_campaign_tells_it():
    results = nightly([100, 101, 102])
    by_rule = [one["cells"][0]["median_speed"] for one in results]
    for one in results:
        (cell,) = one["cells"]
        cell["elapsed"] = {"median_speed": 90.0}
        for repeat, speed in zip(cell["repeats"], (89.0, 90.0, 91.0), strict=True):
            repeat["elapsed_throughput"] = speed
    ((trend,), _) = gathered(*results)
    assert trend["by_time"] is True
    figures = [(point["low"], point["median"], point["high"]) for point in trend["points"]]
    assert figures == [(89.0, 90.0, 91.0)] * 3
    del results[1]["cells"][0]["elapsed"]
    ((trend,), _) = gathered(*results)
    assert trend["by_time"] is False
    assert [point["median"] for point in trend["points"]] == by_rule
    assert all("by_time" not in point for point in trend["points"])


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_size_per_device": 8},
        {"precision": "amp"},
        {"iterations": 5},
        {"image_size": 64},
        {"recipe": "upstream"},
    ],
)
def test_other_conditions_make_another_trend(changes):
    usual = {"iterations": 20, "image_size": 32, "recipe": "portable"}
    first = results_of(0, {"1n1g": [100.0]}, **usual)
    assert len(gathered(first, results_of(1, {"1n1g": [100.0]}, **{**usual, **changes}))[0]) == 2
    assert len(gathered(first, results_of(1, {"1n1g": [100.0]}, **usual))[0]) == 1


def test_trends_are_in_the_order_of_their_cells():
    trends, _ = gathered(results_of(0, {"1n8g": [100.0]}), results_of(1, {"1n2g": [100.0]}))
    assert [trend["conditions"]["topology"] for trend in trends] == ["1n2g", "1n8g"]


def test_results_older_than_a_factor_have_its_plain_value(later_factor):
    first, second, third = nightly([100, 100, 100])
    second["cells"][0]["accumulation"] = 1
    third["cells"][0]["accumulation"] = 4
    trends, _ = gathered(first, second, third)
    assert [len(trend["points"]) for trend in trends] == [2, 1]
    assert [trend["conditions"]["accumulation"] for trend in trends] == [1, 4]


def test_a_factor_that_a_benchmark_got_later_begins_no_history_anew():
    campaigns = nightly([100] * 5)
    for one, experts in zip(campaigns, (None, 1, 4, 1, None), strict=True):
        if experts:
            one["cells"][0]["own_factors"] = {"experts": experts}
    trends, _ = gathered(*campaigns)
    assert [len(trend["points"]) for trend in trends] == [4, 1]
    assert [trend["conditions"]["experts"] for trend in trends] == [1, 4]


def test_other_hardware_is_another_trend_and_another_driver_is_not():
    first, second = nightly([100, 100], drivers=["535", "550"])
    assert len(gathered(first, second)[0]) == 1
    second["provenance"]["nodes"]["node1"]["gpus"][0]["name"] = "H100"
    assert len(gathered(first, second)[0]) == 2


def test_gpus_of_several_kinds_are_told_in_one_order():
    results = results_of(0, {"1n1g": [100.0]})
    names = ["V100", "H100", "T4", "A100", "H100", "L4"]
    results["provenance"]["nodes"]["node1"]["gpus"] = [{"name": name} for name in names]
    ((trend,), _) = gathered(results)
    gpus = "1 x A100, 2 x H100, 1 x L4, 1 x T4, 1 x V100"
    assert trend["conditions"]["hardware"] == f"{gpus}, 40 cores of Xeon"


def test_repeats_beside_others_are_another_trend():
    first, second = nightly([100, 100])
    second["cells"][0]["repeats"][0]["packed_with"] = ["logs/other.log"]
    assert len(gathered(first, second)[0]) == 2


def test_topologies_are_in_order_of_their_devices():
    trends, _ = gathered(results_of(0, REFERENCE_004))
    assert [trend["conditions"]["topology"] for trend in trends] == list(REFERENCE_004)


def test_a_cell_without_a_speed_is_a_gap_of_its_trend():
    first, second, third = nightly([100, 100, 100])
    cell = second["cells"][0]
    cell.update(median_speed=None, unit=None, state="failed", spread=None, interval=None)
    (trend,) = gathered(first, second, third)[0]
    assert [point["campaign"] for point in trend["points"]] == ["c00", "c02"]
    assert [(gap["campaign"], gap["state"]) for gap in trend["gaps"]] == [("c01", "failed")]
    (alone,) = gathered(second)[0]
    assert (len(alone["points"]), len(alone["gaps"])) == (0, 1)


def test_a_cell_that_did_not_run_is_a_gap_of_each_trend_that_it_may_have_been_of():
    alone, beside, by_other_rule, failed = nightly([100] * 4)
    beside["cells"][0]["repeats"][0]["packed_with"] = ["logs/other.log"]
    for repeat in by_other_rule["cells"][0]["repeats"]:
        repeat["strategy"] = "other"
    failed["cells"][0].update(median_speed=None, state="failed", spread=None, repeats=[])
    trends, _ = gathered(alone, beside, by_other_rule, failed)
    assert [[gap["campaign"] for gap in trend["gaps"]] for trend in trends] == [["c03"]] * 3


def test_cells_without_a_speed_that_differ_are_gaps_of_trends_of_their_own():
    campaigns = nightly([100] * 3)
    for one, own in zip(campaigns, ({}, {"experts": 1}, {"experts": 4}), strict=True):
        one["cells"][0].update(median_speed=None, state="failed", spread=None, own_factors=own)
    found = [
        (trend["conditions"]["experts"], len(trend["gaps"])) for trend in gathered(*campaigns)[0]
    ]
    assert found == [(1, 2), (4, 1)]


def test_a_copy_of_a_campaign_counts_once():
    first, second = nightly([100, 101])
    (trend,), twice = gathered(first, second, first)
    assert len(trend["points"]) == 2
    assert twice == [{"folder": "folder2", "reason": "the same campaign as in folder0"}]


@pytest.mark.parametrize("created", [None, "yesterday", 5])
def test_results_without_a_date_have_no_place(created):
    plan, runs = campaign({"1n1g": [100.0]})
    results = build_results(plan, runs)
    results["provenance"].update(created=created, nodes={})
    with pytest.raises(ValueError, match="does not say when it was planned"):
        entry(results, "x")


def test_selection():
    trends, _ = gathered(
        results_of(0, REFERENCE_004), results_of(1, REFERENCE_004, precision="amp")
    )
    assert len(select(trends, {})) == 12
    chosen = select(trends, {"topology": ["4n8g", "1n1g"], "precision": ["amp"], "benchmark": []})
    assert [trend["conditions"]["topology"] for trend in chosen] == ["1n1g", "4n8g"]
    with pytest.raises(ValueError, match="no campaign has precision fp8: there are amp, fp32"):
        select(trends, {"precision": ["fp8"]})
    with pytest.raises(ValueError, match=r"there are 1n1g, 1n2g, 1n4g, 1n8g, 2n8g, 4n8g$"):
        select(trends, {"topology": "9n9g"})
    as_text = {"topology": "4n8g, 1n1g", "precision": "amp", "benchmark": ""}
    assert select(trends, as_text) == chosen
    with pytest.raises(ValueError, match="cannot select by 'unit'"):
        select(trends, {"unit": ["x"]})
