"""What history.html says first, which plots it has, and what it leaves to the other files."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.history.history import build_history
from ansible_collections.scalebench.core.plugins.module_utils.history.history_text import (
    history_page,
    plots_shown,
)
from ansible_collections.scalebench.core.plugins.module_utils.history.trends import entry
from history_data import nightly, results_of

DROP = [100] * 10 + [95] * 5
DRIVERS = ["535.54"] * 10 + ["550.90"] * 5


def history(results, left_out=()):
    return build_history([entry(one, one["campaign"]) for one in results], left_out, {})


def many(batches, levels):
    """Return campaigns of one cell for each batch size."""
    found = nightly(levels[0], seed=1, variant="bz0")
    for batch, own in zip(range(1, batches), levels[1:], strict=True):
        for one, more in zip(found, nightly(own, seed=batch, variant=f"bz{batch}"), strict=True):
            one["cells"] += more["cells"]
    return history(found)


@pytest.mark.parametrize(
    ("levels", "level", "verdict"),
    [
        (DROP, "care", "The level of 1 of 1 trends changed"),
        ([100] * 15, "good", "No change of level in 1 trends"),
        ([100] * 3, "few", "Too few campaigns to find a change"),
    ],
)
def test_the_verdict_comes_first(levels, level, verdict):
    made = history(nightly(levels, DRIVERS[: len(levels)], seed=2))
    trust = history_page(made, plots_shown(made))["head"]["trust"]
    assert (trust["level"], trust["verdict"]) == (level, verdict)


def test_changes_are_told_the_latest_first_with_what_changed():
    made = many(2, [DROP, [100] * 12 + [90] * 3])
    first, second = history_page(made, ())["head"]["trust"]["reasons"]
    assert first.startswith("2026-09-13: pytorch fp32 bz1 1n1g -")
    assert second.startswith("2026-09-11: pytorch fp32 bz0 1n1g -")
    assert second.endswith("with c10; no recorded condition changed with it")
    (reason,) = history_page(history(nightly(DROP, DRIVERS)), ())["head"]["trust"]["reasons"]
    assert "with c10; with it changed gpus driver" in reason


def test_the_days_and_the_benchmarks_are_named():
    made = history(nightly([100] * 3))
    assert history_page(made, ())["head"]["where"] == (
        "pytorch: campaigns from 2026-09-01 to 2026-09-03."
    )
    later = [
        results_of(day, {"1n1g": [100.0]}, variant=variant)
        for variant, day in (("bz1", 5), ("bz2", 0), ("bz3", 3))
    ]
    assert history_page(history(later), ())["head"]["where"] == (
        "pytorch: campaigns from 2026-09-01 to 2026-09-06."
    )
    alone = history(nightly([100]))
    assert history_page(alone, ())["head"]["where"] == "pytorch: campaigns on 2026-09-01."


def test_of_many_trends_those_that_changed_keep_their_plots():
    made = many(45, [[100] * 18] * 44 + [[*DROP, 95, 95, 95]])
    made["trends"].sort(key=lambda trend: bool(trend["changes"]))
    changed = made["trends"][-1]
    plots = plots_shown(made)
    assert len(plots) == 40
    assert changed["plot"] in plots
    shown = history_page(made, plots)
    places = [part["plot"] for part in shown["trends"] if part["plot"] is not None]
    assert places == list(range(40))
    assert shown["tables_open"] is False


def test_a_trend_of_one_campaign_has_no_plot():
    made = history(nightly([100]))
    assert plots_shown(made) == []
    assert history_page(made, [])["trends"][0]["plot"] is None


def test_a_long_table_has_the_latest_campaigns_and_says_so():
    made = history(nightly([100] * 103))
    (part,) = history_page(made, ())["trends"]
    (table,) = part["tables"]
    assert len(table["rows"]) == 100
    assert table["rows"][-1][1]["text"] == "c102"
    assert "latest 100 campaigns" in part["paragraphs"][-1]


def test_a_table_of_a_hundred_campaigns_is_whole_and_says_nothing_of_it():
    (part,) = history_page(history(nightly([100] * 100)), ())["trends"]
    assert len(part["tables"][0]["rows"]) == 100
    assert not any("latest" in words for words in part["paragraphs"])


def test_what_was_left_out_is_counted_and_named():
    shown = history_page(history(nightly([100]), [{"folder": "x", "reason": "no JSON"}]), ())
    (figure, *_) = shown["head"]["figures"]
    assert figure == {"label": "campaigns", "value": "1", "note": "1 more left out"}
    assert [part["ident"] for part in shown["rest"]] == ["method", "left-out"]


def test_nothing_measured_is_said():
    results = nightly([100])
    results[0]["cells"][0]["median_speed"] = None
    shown = history_page(history(results), ())
    assert shown["head"]["where"] == "No campaign measured a cell."
