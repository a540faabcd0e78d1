"""history.html in a browser: a change in one trend, an outlier, hostile names."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path

import pytest
from browser import SCHEMES, WIDTHS, overflowing_elements, serious_violations
from history_data import nightly
from page_data import HOSTILE

ROOT = Path(__file__).resolve().parents[2]
LEVELS = [100.0] * 10 + [94.0] * 6
DRIVERS = ["535.54"] * 10 + ["550.90"] * 6


@pytest.fixture(scope="session")
def history(tmp_path_factory):
    """Return history.html of 16 campaigns with three cells; one cell has hostile names."""
    folder = tmp_path_factory.mktemp("history")
    slower = nightly(LEVELS, DRIVERS, seed=4)
    slower[3]["cells"][0]["median_speed"] = 70.0
    steady = nightly([200.0] * 16, DRIVERS, seed=5, precision="amp")
    hostile = nightly([50.0] * 2, DRIVERS, seed=6, model=HOSTILE, benchmark=HOSTILE)
    for day, results in enumerate(slower):
        results["cells"] += steady[day]["cells"]
        if day < len(hostile):
            results["cells"] += hostile[day]["cells"]
        place = folder / f"campaigns/c{day:02}"
        place.mkdir(parents=True)
        (place / "results.json").write_text(json.dumps(results))
    subprocess.run(
        [
            *("ansible-playbook", "playbooks/history.yml"),
            *("-e", f"campaign_results_dir={folder}/campaigns", "-e", f"output_dir={folder}"),
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return folder / "history.html"


def test_no_error_no_request_no_overflow(open_file, history):
    for width, scheme in itertools.product(WIDTHS, SCHEMES):
        shown = open_file(history, width, color_scheme=scheme)
        assert shown.messages == []
        assert overflowing_elements(shown, width) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_serious_accessibility_violation(open_file, history, scheme):
    assert serious_violations(open_file(history, color_scheme=scheme)) == []


def test_every_trend_has_its_plot_and_every_campaign_its_row(open_file, history):
    shown = open_file(history, java_script_enabled=False)
    data = json.loads((history.parent / "history.json").read_text())
    assert len(data["trends"]) == 3
    for number, trend in enumerate(data["trends"], 1):
        part = shown.locator(f"#trend-{number}")
        rows = part.locator("tbody tr").all_text_contents()
        assert len(rows) == len(trend["points"])
        assert all(f"{point['median']:.2f}" in row for point, row in zip(trend["points"], rows))
        drawing = part.locator("svg[role=img]")
        assert drawing.bounding_box()["width"] > 300
        assert drawing.locator("use").count() >= len(trend["points"])
        assert "Median throughput of" in drawing.locator("desc").text_content()
        # Its title is the heading above it.
        assert not drawing.locator("[id$=-heading]").is_visible()
        assert shown.locator(f"#summary a[href='#trend-{number}']").count() == 1


def test_the_change_stands_at_the_top_with_what_changed(open_file, history):
    shown = open_file(history)
    summary = shown.locator(".trust").text_content()
    assert "The level of 1 of 3 trends changed" in summary
    assert "2026-09-11: pytorch fp32 bz4 1n1g -5." in summary
    assert "driver" in summary
    marks = shown.locator("main tbody td:last-child").all_text_contents()
    assert (marks.count("change"), marks.count("outlier")) == (1, 1)


def test_plots_follow_the_colour_scheme(open_file, history):
    colours = {
        open_file(history, color_scheme=scheme)
        .locator("figure svg text")
        .first.evaluate("text => getComputedStyle(text).fill")
        for scheme in SCHEMES
    }
    assert colours == {"rgb(28, 33, 40)", "rgb(230, 233, 238)"}


def test_what_is_hostile_is_shown_and_does_nothing(open_file, history):
    shown = open_file(history)
    assert shown.evaluate("window.hostile") is None
    assert shown.locator("img").count() == 0
    headings = shown.locator("#every-trend h3").all_text_contents()
    assert any("<script>window.hostile = true</script>" in heading for heading in headings)
