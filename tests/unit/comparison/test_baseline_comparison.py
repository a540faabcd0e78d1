"""Campaign against campaign: what is found, and what is not compared and why."""

import inspect
import json
import math

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.comparison.baseline import (
    compare_campaigns,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.against_published import (
    against_published,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.log_ratio import MARGIN
from ansible_collections.scalebench.core.plugins.plugin_utils.verdicts import ARGUMENTS
from campaign_data import ROOT
from comparison_data import results, speeds

BASE = {"1n1g": speeds(100, 1), "2n1g": speeds(190, 2), "4n1g": speeds(370, 3)}


def compare(ours, baseline=BASE, margin=0.02, **of_baseline):
    return compare_campaigns(
        results(ours), [results(baseline, "before", **of_baseline)], margin, "x"
    )


def findings(compared):
    return {cell["topology"]: cell["finding"] for cell in compared["cells"]}


def test_each_finding():
    ours = {"1n1g": speeds(95, 4), "2n1g": speeds(190, 5), "4n1g": speeds(390, 6)}
    compared = compare(ours)
    assert findings(compared) == {"1n1g": "slower", "2n1g": "equivalent", "4n1g": "faster"}
    first = compared["cells"][0]
    assert first["low"] < first["ratio"] < first["high"] < 1
    assert first["ratio"] == pytest.approx(0.95, abs=0.01)
    assert first["ratio"] == first["speed"] / first["baseline_speed"]
    assert (first["repeats"], first["baseline_repeats"]) == (5, 5)
    assert compared["baseline"] == {
        "campaign": "before",
        "created": "of before",
        "given": "x",
    }
    json.dumps(compared, allow_nan=False)


def test_a_difference_that_does_not_matter_is_none_of_them():
    ours = {"1n1g": [99.0, 99.01, 99.0, 98.99]}
    compared = compare(ours, {"1n1g": [100.0, 100.01, 99.99, 100.0]})
    assert findings(compared) == {"1n1g": "different within margin"}


def test_noise_leaves_it_undecided_and_says_why():
    noisy = {"1n1g": [100.0, 120.0, 90.0]}
    (cell,) = compare(noisy, {"1n1g": [99.0, 110.0, 95.0]})["cells"]
    assert cell["finding"] == "undecided"
    assert cell["why"].startswith("too few repeats for their spread")
    assert cell["low"] < 1 < cell["high"]


@pytest.mark.parametrize(("ours", "baseline"), [([90.0], [100.0, 101.0]), ([90.0, 91.0], [100.0])])
def test_one_repeat_finds_nothing(ours, baseline):
    (cell,) = compare({"1n1g": ours}, {"1n1g": baseline})["cells"]
    assert (cell["finding"], cell["low"], cell["p_difference"]) == ("undecided", None, None)
    assert cell["why"].startswith("one repeat only")


def test_repeats_without_spread():
    same = {"1n1g": [100.0] * 3}
    assert findings(compare(same, same)) == {"1n1g": "equivalent"}
    assert findings(compare({"1n1g": [95.0] * 3}, same)) == {"1n1g": "slower"}


def test_many_cells_need_more_than_one():
    """A difference that is significant alone is not significant among twenty equal cells."""
    alone = {"1n1g": [100.0, 101.0, 99.0, 100.5]}, {"1n1g": [102.5, 101.6, 101.0, 103.9]}
    assert findings(compare(*alone, margin=0.005)) == {"1n1g": "slower"}
    others = {f"{nodes}n1g": speeds(100, nodes) for nodes in range(2, 21)}
    among = compare({**alone[0], **others}, {**alone[1], **others}, margin=0.005)
    assert among["cells"][0]["finding"] == "undecided"
    assert among["cells"][0]["high"] < 1


def test_what_is_not_compared_has_its_reason():
    ours = results({"1n1g": [10.0, 10.1], "2n1g": [20.0, 20.1], "8n1g": [1.0, 1.1]})
    theirs = results({"1n1g": [10.0, 10.1], "2n1g": [20.0, 20.1], "4n1g": [1.0, 1.1]}, "before")
    theirs["cells"][1].update(iterations=50, device="cpu")
    compared = compare_campaigns(ours, [theirs], 0.02, "x")
    assert [cell["topology"] for cell in compared["cells"]] == ["1n1g"]
    assert {cell["topology"]: cell["reason"] for cell in compared["not_compared"]} == {
        "2n1g": "device cpu in the baseline, gpu here; iterations 50 in the baseline, 100 here",
        "8n1g": "not in the baseline",
        "4n1g": "only in the baseline",
    }


def test_a_cell_without_speed_is_not_compared():
    ours = results({"1n1g": [10.0, 10.1], "2n1g": [20.0, 20.1]})
    theirs = results({"1n1g": [10.0, 10.1], "2n1g": [None, None]}, "before")
    (apart,) = compare_campaigns(ours, [theirs], 0.02, "x")["not_compared"]
    assert apart["reason"] == "no repeat gave a speed in the baseline"


def test_a_condition_that_one_side_does_not_record_is_told():
    theirs = results(BASE, "before")
    for cell in theirs["cells"]:
        cell["warmup"] = None
    compared = compare_campaigns(results(BASE), [theirs], 0.02, "x")
    assert [cell["not_recorded"] for cell in compared["cells"]] == [["warmup"]] * 3


@pytest.mark.parametrize(
    ("baseline", "margin", "said"),
    [
        (results(BASE), 0.02, "the baseline is the campaign itself, mine"),
        (
            results({"64n1g": [1.0]}, "b"),
            0.02,
            "no cell is in both: here pytorch fp32 bz4 r50",
        ),
        (results(BASE, "b"), 0, "equivalence_margin=0: a share above 0"),
        (results(BASE, "b"), 2, "equivalence_margin=2: a share above 0"),
        (results(BASE, "b"), math.nan, "equivalence_margin=nan"),
    ],
)
def test_what_cannot_be_compared_is_refused(baseline, margin, said):
    with pytest.raises(ValueError, match=said):
        compare_campaigns(results(BASE), [baseline], margin, "x")


def on_days(*days, of=BASE):
    """Return a campaign for each day, ``2026-11-01`` and an hour; each a little faster."""
    return [
        results(
            {name: [round(v * (1 + 0.001 * place), 2) for v in all_] for name, all_ in of.items()},
            f"b{place}",
            created=f"{day}:00:00Z",
        )
        for place, day in enumerate(days)
    ]


DAYS = ("2026-11-01T08", "2026-11-02T08", "2026-11-03T08", "2026-11-04T08")


def test_one_day_tells_nothing_of_others():
    for baselines in (on_days(DAYS[0]), on_days("2026-11-01T02", "2026-11-01T22")):
        compared = compare_campaigns(results(BASE), baselines, 0.02, "x")
        assert compared["scope"] == "same day only"
        for cell in compared["cells"]:
            assert (cell["scope"], cell["days"], cell["day_sd"]) == ("same day only", 1, None)
            assert cell["baseline_repeats"] == 5 * len(baselines)


def test_earlier_campaigns_show_how_days_differ():
    """The baseline is one day; its mean stays, and the interval is that of a new day."""
    every = on_days(*(f"2026-11-{day:02}T08" for day in range(1, 13)))
    baseline, history = every[-1:], every
    alone = compare_campaigns(results(BASE), baseline, 0.02, "x")["cells"][0]
    known = compare_campaigns(results(BASE), baseline, 0.02, "x", history)
    cell = known["cells"][0]
    assert (known["scope"], cell["days"], cell["known_days"]) == ("new day", 1, 12)
    assert cell["ratio"] == alone["ratio"]
    assert cell["degrees_of_freedom"] == pytest.approx(11, abs=0.5)
    assert cell["high"] - cell["low"] > alone["high"] - alone["low"]
    assert cell["day_sd"] == pytest.approx(0.0025, rel=0.2)
    assert [one["campaign"] for one in cell["earlier"]] == [f"b{place}" for place in range(11)]
    apart = [dict(one, cells=[{**c, "warmup": 1} for c in one["cells"]]) for one in every[:-1]]
    assert compare_campaigns(results(BASE), baseline, 0.02, "x", apart)["scope"] == "same day only"


def test_few_earlier_days_are_not_used():
    """With two or three days in all hardly anything is shown of a new day."""
    every = on_days(*DAYS, "2026-11-05T08")
    for count, scope in ((3, "same day only"), (4, "same day only"), (5, "new day")):
        compared = compare_campaigns(results(BASE), every[:1], 0.02, "x", every[:count])
        assert compared["scope"] == scope


def test_earlier_campaigns_whose_speeds_are_of_another_kind_are_not_used():
    """Speeds by the time of the steps are not mixed with the rule's."""
    every = on_days(*(f"2026-11-{day:02}T08" for day in range(1, 7)))
    ours = results(BASE)
    for cell in [cell for one in (ours, *every[:-1]) for cell in one["cells"]]:
        for repeat in cell["repeats"]:
            repeat["elapsed_throughput"] = 0.9 * repeat["throughput"]
    for one in every[-1]["cells"]:
        for repeat in one["repeats"]:
            repeat.pop("elapsed_throughput", None)
            repeat["throughput"] *= 2
    (cell, *_) = compare_campaigns(ours, every[:1], 0.02, "x", every)["cells"]
    assert (cell["known_days"], len(cell["earlier"])) == (5, 4)


def test_campaigns_without_a_date_are_one_day():
    baselines = [results(BASE, name) for name in ("one", "two")]
    assert compare_campaigns(results(BASE), baselines, 0.02, "x")["scope"] == "same day only"


def test_several_days_predict_a_new_one():
    compared = compare_campaigns(results(BASE), on_days(*DAYS), 0.02, "last:4")
    assert compared["scope"] == "new day"
    assert [one["day"] for one in compared["baselines"]] == [day[:10] for day in DAYS]
    assert compared["baseline"]["campaign"] == "b3", "the latest"
    first = compared["cells"][0]
    assert first["days"] == 4
    assert first["degrees_of_freedom"] == pytest.approx(3, abs=0.1)
    assert first["run_sd"] == pytest.approx(0.005, rel=0.8)
    assert first["speeds"] == BASE["1n1g"]
    assert [len(group) for group in first["baseline_groups"]] == [5] * 4
    assert first["baseline_campaigns"] == ["b0", "b1", "b2", "b3"]
    assert first["baseline_days"] == [day[:10] for day in DAYS]
    json.dumps(compared, allow_nan=False)


def test_days_that_differ_more_than_runs_show_no_difference():
    """Each pair of campaigns differs; four days of them tell that days do."""
    levels = (1.0, 1.03, 0.98, 1.02)
    baselines = [
        results({"1n1g": speeds(100 * level, place)}, f"b{place}", created=f"{day}:00:00Z")
        for place, (day, level) in enumerate(zip(DAYS, levels))
    ]
    ours = results({"1n1g": speeds(97, 9)})
    alone = [compare_campaigns(ours, [one], 0.02, "x")["cells"][0] for one in baselines[:2]]
    assert [cell["finding"] for cell in alone] == ["slower", "slower"]
    (cell,) = compare_campaigns(ours, baselines, 0.02, "x")["cells"]
    assert cell["finding"] == "undecided"
    assert cell["day_sd"] == pytest.approx(0.022, rel=0.2)


def test_a_cell_that_some_campaigns_lack_is_compared_with_the_others():
    baselines = on_days(*DAYS[:3])
    del baselines[1]["cells"][2]
    baselines[2]["cells"][2]["iterations"] = 50
    compared = compare_campaigns(results(BASE), baselines, 0.02, "x")
    last = compared["cells"][2]
    assert (last["baseline_campaigns"], last["scope"]) == (["b0"], "same day only")
    assert last["left_out"] == [
        {"campaign": "b1", "reason": "not in the baseline"},
        {"campaign": "b2", "reason": "iterations 50 in the baseline, 100 here"},
    ]
    assert compared["cells"][0]["scope"] == "new day"
    assert compared["scope"] == "same day only"
    del baselines[0]["cells"][2]
    (apart,) = compare_campaigns(results(BASE), baselines, 0.02, "x")["not_compared"]
    assert apart["reason"] == (
        "b0, b1: not in the baseline; b2: iterations 50 in the baseline, 100 here"
    )


def test_a_campaign_twice_in_the_baseline_is_refused():
    baselines = on_days(*DAYS[:2])
    with pytest.raises(ValueError, match="campaign b0 is in it twice"):
        compare_campaigns(results(BASE), [*baselines, baselines[0]], 0.02, "x")
    other = results({"64n1g": [1.0]}, "odd", created="2026-11-09T00:00:00Z")
    with pytest.raises(ValueError, match="in campaign odd of the baseline pytorch fp32"):
        compare_campaigns(results(BASE), [*baselines, other], 0.02, "x")


def test_campaigns_and_published_figures_have_one_margin():
    files = [ROOT / f"roles/{role}" for role in ("comparison", "report")]
    stated = [
        yaml.safe_load((folder / "defaults/main.yml").read_text())[
            f"{folder.name}_equivalence_margin"
        ]
        for folder in files
    ]
    assert stated == [f"{{{{ equivalence_margin | default({MARGIN}) }}}}"] * 2
    assert inspect.signature(against_published).parameters["margin"].default == MARGIN
    assert ARGUMENTS["equivalence_margin"]["default"] == MARGIN
