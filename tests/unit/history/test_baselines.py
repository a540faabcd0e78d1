"""Which campaigns become the baseline, and why others do not."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.history.baselines import (
    check_hardware,
    chosen_lines,
    last,
    latest,
)
from ansible_collections.scalebench.core.plugins.module_utils.history.trends import (
    conditions,
    entry,
)
from history_data import node, results_of
from report_data import campaign

SPEEDS = {"1n1g": [100.0, 101.0], "2n1g": [190.0, 191.0]}


def entries(*found):
    return [entry(results, results["campaign"]) for results in found]


def planned(nodes=None, **of_cells):
    """Return the conditions of the cells of a campaign that is not run yet."""
    plan, _ = campaign(SPEEDS, node_names=["node1"], device="gpu", **of_cells)
    return [conditions(cell, nodes or {"node1": node()}) for cell in plan["cells"]]


def chosen(found, ours=None, before="", most=4):
    return latest(entries(*found), [], ours or planned(), before, most)


NIGHTS = [results_of(day, SPEEDS) for day in range(6)]


def test_the_last_of_the_same_hardware_and_plan():
    folders, others = chosen(NIGHTS)
    assert folders == ["c05", "c04", "c03", "c02"]
    assert others == [{"reason": "older than the last 4", "campaigns": ["c01", "c00"]}]
    assert chosen(NIGHTS, most=10)[0] == ["c05", "c04", "c03", "c02", "c01", "c00"]


def test_another_driver_is_no_other_hardware():
    folders, _ = chosen([*NIGHTS[:2], results_of(2, SPEEDS, "550.90")])
    assert folders == ["c02", "c01", "c00"]


@pytest.mark.parametrize("earlier", [True, False])
def test_a_factor_that_a_benchmark_got_later_is_no_other_plan(earlier):
    ours, night = planned(), results_of(0, SPEEDS)
    for cell in night["cells"]:
        cell["own_factors"] = {} if earlier else {"experts": 1}
    for cell in ours if earlier else ():
        cell["experts"] = 1
    assert chosen([night], ours) == (["c00"], [])


def test_other_hardware_and_other_plans_are_named_with_what_differs():
    moved = results_of(7, SPEEDS)
    moved["provenance"]["nodes"]["node1"] = node(cores=64)
    found = [*NIGHTS[:2], moved, results_of(8, SPEEDS, iterations=50), results_of(9, {"1n1g": [1]})]
    folders, others = chosen(found, planned(iterations=20))
    assert folders == ["c01", "c00"]
    reasons = {one["campaigns"][0]: one["reason"] for one in others}
    assert reasons["c07"].endswith(
        "1n1g: hardware 1 x Tesla V100, 64 cores of Xeon, here 1 x Tesla V100, 40 cores of Xeon"
    )
    assert "1n1g: iterations 50, here 20" in reasons["c08"]
    assert reasons["c09"].startswith("it has no cell") and reasons["c09"].endswith("2n1g")


def test_only_campaigns_before_it_and_each_once():
    copy = {**NIGHTS[1], "campaign": "c01"}
    found = [*entries(*NIGHTS[:4]), {**entry(copy, "z-copy")}]
    folders, others = latest(
        found, [{"folder": "bad", "reason": "damaged"}], planned(), "2026-09-03T02:30:00Z", 4
    )
    assert folders == ["c01", "c00"]
    assert {"reason": "damaged", "campaigns": ["bad"]} in others
    assert {"reason": "not planned before this campaign", "campaigns": ["c03", "c02"]} in others
    assert {"reason": "the same campaign as in c01", "campaigns": ["z-copy"]} in others


def test_a_measured_campaign_chooses_the_same():
    ours = results_of(6, SPEEDS)
    cells = [conditions(cell, ours["provenance"]["nodes"]) for cell in ours["cells"]]
    assert chosen(NIGHTS, cells) == chosen(NIGHTS)


def test_figures_of_another_unit_are_no_baseline():
    """They could not be compared, and stood in the place of an earlier one that can."""
    other = results_of(7, SPEEDS, unit="tokens/s")
    folders, others = chosen([NIGHTS[0], other], planned(unit="images/s"), most=1)
    assert folders == ["c00"]
    assert others[0]["reason"].endswith("1n1g: unit tokens/s, here images/s")


def test_a_search_for_the_batch_size_fits_any():
    ours = [{**cell, "batch_size_per_device": "max", "variant": "bzmax"} for cell in planned()]
    assert chosen(NIGHTS, ours, most=1)[0] == ["c05"]


def test_mixed_hardware_is_refused():
    moved = results_of(7, SPEEDS)
    check_hardware([*NIGHTS, results_of(7, SPEEDS, "550.90")])
    moved["provenance"]["nodes"]["node1"] = node(cpu_model="EPYC")
    with pytest.raises(ValueError, match=r"mixed hardware: .*1n1g ran on .*Xeon in c00, and on .*"):
        check_hardware([NIGHTS[0], moved])
    moved["provenance"]["nodes"] = {}
    check_hardware([NIGHTS[0], moved])


@pytest.mark.parametrize(
    ("given", "count"), [("last:4", 4), ("last:1", 1), ("monday", None), ("a/last:4", None)]
)
def test_last(given, count):
    assert last(given) == count


@pytest.mark.parametrize("given", ["last:", "last:0", "last:x", "last:-1", "last:1.5"])
def test_a_wrong_number_is_refused(given):
    with pytest.raises(ValueError, match="as last:4"):
        last(given)


def test_what_was_chosen_is_told_and_why_others_were_not():
    assert chosen_lines(NIGHTS[:1], []) == ["Baseline: c00, 2 cell(s)"]
    others = [{"reason": "older", "campaigns": list("abcdef")}]
    assert chosen_lines([NIGHTS[1], NIGHTS[0], NIGHTS[0]], others) == [
        "Baseline: 3 campaign(s) of 2 day(s)",
        "  c01, 2 cell(s), planned 2026-09-02T02:30:00Z",
        "  c00, 2 cell(s), planned 2026-09-01T02:30:00Z",
        "  c00, 2 cell(s), planned 2026-09-01T02:30:00Z",
        "  not a, b, c, d and 2 more: older",
    ]
    assert chosen_lines([], []) == ["Baseline: chosen once the cells are planned"]


def test_a_campaign_that_was_broken_off_stands_for_no_day():
    broken = results_of(9, {"1n1g": [99.0], "2n1g": [190.0, 191.0]})
    found = [*NIGHTS[:2], broken]
    assert chosen(found)[0] == ["c09", "c01", "c00"]
    folders, others = latest(entries(*found), [], planned(), "", 4, repeats=2)
    assert folders == ["c01", "c00"]
    (left_out,) = others
    assert left_out["campaigns"] == ["c09"]
    assert left_out["reason"].endswith("1n1g: fewer than 2 good repeats")
