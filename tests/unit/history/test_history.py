"""The history marks what changed and stood apart, names the cause's candidates, and shows it."""

import csv
import io
import json
import re

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.history.history import build_history
from ansible_collections.scalebench.core.plugins.module_utils.history.history_text import (
    describe,
    history_csv,
    history_markdown,
    history_table,
)
from ansible_collections.scalebench.core.plugins.module_utils.history.trends import entry
from ansible_collections.scalebench.core.plugins.module_utils.stats.change_points import LEAST
from history_data import nightly, results_of
from report_data import REFERENCE_004

DROP = [100] * 10 + [95] * 5
DRIVERS = ["535.54"] * 10 + ["550.90"] * 5


def history(results, left_out=(), **wanted):
    entries = [entry(one, one["campaign"]) for one in results]
    return build_history(entries, left_out, wanted)


@pytest.fixture
def slower():
    """Return a history with one drop of 5 %, together with another driver, and an outlier."""
    results = nightly(DROP, DRIVERS, seed=4)
    for cell in results[3]["cells"]:
        cell["median_speed"] = 70.0
    return history(results)


def test_the_change_is_marked_with_what_changed_beside_it(slower):
    (trend,) = slower["trends"]
    (change,) = trend["changes"]
    assert (change["index"], change["campaign"]) == (10, "c10")
    assert change["after"] / change["before"] == pytest.approx(0.95, abs=0.01)
    (changed,) = change["changed"]
    assert (changed["baseline"], changed["now"]) == ("535.54", "550.90")
    assert changed["nodes"] == ["node1"]
    assert [(level["start"], level["stop"]) for level in trend["levels"]] == [(0, 10), (10, 15)]


def test_the_outlier_is_marked_and_makes_no_change(slower):
    (trend,) = slower["trends"]
    assert trend["outliers"] == [3]


def test_a_steady_history_has_no_marks():
    (trend,) = history(nightly([100] * 15, seed=2))["trends"]
    assert (trend["changes"], len(trend["levels"])) == ([], 1)
    assert "no change" in history_table(history(nightly([100] * 15, seed=2)))


def test_what_another_benchmark_was_measured_by_splits_no_trend():
    results = nightly([100] * 12, seed=2)
    other = {"name": "harmonic_mean", "parameters": {}, "about": "x", "changed": {}}
    for night in results[5:]:
        night["provenance"]["strategies"].append(other)
    assert len(history(results)["trends"]) == 1
    for night in results[5:]:
        for repeat in night["cells"][0]["repeats"]:
            repeat["strategy"] = "harmonic_mean"
    assert len(history(results)["trends"]) == 2


def test_few_campaigns_are_said_to_be_few():
    assert "too few" in history_table(history(nightly([100, 90])))
    assert "too few" in history_table(history(nightly([100] * (LEAST - 1), seed=2)))
    assert "no change" in history_table(history(nightly([100] * LEAST, seed=2)))


def test_the_markdown_tells_it_all(slower):
    text = history_markdown(slower, True)
    (trend,) = slower["trends"]
    assert f"]({trend['plot']})" in text
    assert "15 campaigns, 1 trends" in text
    assert re.search(r"Change of -[45]\.\d% with c10 \(2026-09-11T02:30:00Z\)", text)
    assert "from 535.54 to 550.90 on node1" in text
    assert "Outlier: c03" in text
    marks = re.findall(r"\| (c\d\d) .* \| (\S+) +\|$", text, re.MULTILINE)
    assert [mark for mark in marks if mark[1] != "-"] == [("c03", "outlier"), ("c10", "change")]
    assert re.search(r"\| -4\.8 % \| 2026-09-11 \|$", history_table(slower), re.MULTILINE)
    assert "](trend" not in history_markdown(slower, False)
    assert history_markdown(slower, True) == text


def test_the_table_keeps_within_100_columns():
    results = []
    for day, one in enumerate(nightly(DROP)):
        for precision in ("fp32", "amp"):
            more = {"benchmark": "a" * 60, "precision": precision, "iterations": 100 + day % 2}
            speeds = {"64n8g": [one["cells"][0]["median_speed"] * 1e5]}
            results.append(results_of(day, speeds, name=f"c{day}{precision}", **more))
    table = history_table(history(results))
    lines = table.splitlines()
    assert {len(line) for line in lines} == {len(lines[0])}
    assert len(lines[0]) <= 100


def test_trends_that_differ_in_a_factor_of_their_own_are_told_apart():
    """As before and after a benchmark renames one and changes its default."""
    results = [
        results_of(day, {"1n1g": [100.0]}, own_factors=own)
        for day, own in enumerate([{"pixels": 32}, {"image_size": 32}, {"image_size": 64}])
    ]
    labels = [trend["label"] for trend in history(results)["trends"]]
    assert labels == [f"pytorch fp32 bz4 1n1g, image size {size}" for size in (32, 64)]


def test_labels_tell_trends_of_one_cell_apart():
    results = [
        results_of(0, {"1n1g": [100.0]}, iterations=5),
        results_of(1, {"1n1g": [100.0]}, iterations=100),
        results_of(2, {"2n1g": [100.0]}),
    ]
    labels = [trend["label"] for trend in history(results)["trends"]]
    assert sorted(labels) == [
        "pytorch fp32 bz4 1n1g, iterations 100",
        "pytorch fp32 bz4 1n1g, iterations 5",
        "pytorch fp32 bz4 2n1g",
    ]


def test_plots_have_names_of_their_own_that_stay():
    results = [
        results_of(0, REFERENCE_004, iterations=5),
        results_of(1, REFERENCE_004, iterations=7),
    ]
    names = {trend["label"]: trend["plot"] for trend in history(results)["trends"]}
    assert len(set(names.values())) == 12
    fewer = history(results[1:], topology=["4n8g"])["trends"]
    assert fewer[0]["plot"] in names.values(), "other campaigns do not rename a plot"


@pytest.mark.parametrize("name", ["../../etc/x", "a/b c", "x" * 300, "<b>&\n|"])
def test_hostile_names_are_only_text(name):
    found = history(
        [results_of(day, {"1n1g": [100.0]}, benchmark=name, name=name) for day in (0, 1)]
    )
    (trend,) = found["trends"]
    assert re.fullmatch(r"trend-[A-Za-z0-9.-]{1,80}-[0-9a-f]{8}\.svg", trend["plot"])
    assert ".." not in trend["plot"]
    text = history_markdown(found, True)
    assert "<b>" not in text.replace("\\<b\\>", "")
    assert len({line.count("|") for line in history_table(found).splitlines()}) <= 2


def test_the_csv_has_a_row_for_each_campaign_and_gap(slower):
    rows = list(csv.DictReader(io.StringIO(history_csv(slower))))
    assert len(rows) == 15
    assert [row["change"] for row in rows].index("1") == 10
    assert [row["outlier"] for row in rows].index("1") == 3
    assert float(rows[0]["level"]) == slower["trends"][0]["levels"][0]["median"]
    assert (rows[0]["trend"], rows[0]["unit"]) == ("pytorch fp32 bz4 1n1g", "images/s")
    second = nightly([100, 100])
    second[1]["cells"][0].update(median_speed=None, state="failed")
    assert [row["state"] for row in csv.DictReader(io.StringIO(history_csv(history(second))))] == [
        "measured",
        "failed",
    ]


def test_what_was_left_out_is_told():
    found = history(nightly([100]), [{"folder": "zz", "reason": "it is no JSON: x"}])
    assert found["left_out"] == [{"folder": "zz", "reason": "it is no JSON: x"}]
    assert "- zz: it is no JSON: x" in history_markdown(found, True)


def test_it_is_json(slower):
    assert json.loads(json.dumps(slower, allow_nan=False)) == slower


def test_the_plot_in_words(slower):
    words = describe(slower["trends"][0])
    assert "over 15 campaigns, in images/s" in words
    assert "Change on 2026-09-11 from" in words


def test_names_of_columns_are_no_formulas(slower):
    for trend in slower["trends"]:
        trend["conditions"]["=HYPERLINK(1)\x1b]0;x\x07"] = "x"
    assert ",'=HYPERLINK(1)," in history_csv(slower).splitlines()[0]


def utilised(*shares):
    """Return the history of a campaign a day, with these shares by convention."""
    results = nightly([10.0] * len(shares))
    for one, share in zip(results, shares, strict=True):
        one["cells"][0]["figures"] = share and {"mfu": share}
    return history(results)


def test_the_utilisation_is_nvidias_or_the_stated_one():
    made = utilised({"nvidia": 0.4, "torchtitan": 0.5}, {"stated": 0.3}, None)
    (trend,) = made["trends"]
    assert [point.get("mfu") for point in trend["points"]] == [0.4, 0.3, None]
    assert "| MFU % |" in history_markdown(made, with_plots=False)
    assert "40.00" in history_markdown(made, with_plots=False)
    assert history_csv(made).splitlines()[1].count("0.4") == 1


def test_the_utilisation_has_no_column_where_no_run_states_it():
    made = utilised(None, None)
    assert "MFU" not in history_markdown(made, with_plots=False)
    assert "mfu" not in history_csv(made)
