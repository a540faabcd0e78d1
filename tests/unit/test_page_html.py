"""report.html as text: every value escaped, one script, nothing from anywhere."""

import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import (
    FIGURES,
    PAGE_COLOURS,
    describe,
    drawn_figures,
    inline_svg,
    plot_series,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.plugin_utils.page_html import page_html
from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import svg_text
from ansible_collections.scalebench.core.plugins.plugin_utils.scaling_figure import scaling_figure
from page_data import HOSTILE, eventful_results, hostile_results
from report_data import campaign

TEMPLATES = Path(__file__).resolve().parents[2] / "roles/report/templates"


def report_html(made_of, plots):
    return page_html([TEMPLATES], "report.html.j2", made_of, plots)


class Tags(HTMLParser):
    """Collects tags with their attributes, and the text outside of script and style."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self._raw = [], "", False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._raw = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._raw = self._raw and tag not in ("script", "style")

    def handle_data(self, data):
        self.text += "" if self._raw else data


def drawn(results):
    series = plot_series(results)
    return [
        inline_svg(
            svg_text(scaling_figure(series, figure), FIGURES[figure], describe(series, figure)),
            f"{figure}-",
            PAGE_COLOURS,
        )
        for figure in drawn_figures(series)
    ]


@pytest.fixture(scope="module")
def hostile():
    results, plan, runs = hostile_results()
    tails = {failure["log"]: [HOSTILE] for failure in results["failures"]}
    # As the door reads them: from files.
    results, plan, runs = json.loads(json.dumps([results, plan, runs]))
    return report_html(page(results, plan, runs, tails), drawn(results))


def test_what_is_hostile_is_text(hostile):
    found = Tags(hostile)
    names = [name for name, _ in found.tags]
    assert names.count("script") == 1
    assert "img" not in names
    assert names.count("style") == 1
    assert not [attrs for _, attrs in found.tags if any(key.startswith("on") for key in attrs)]
    # In headings, tables, lists, plots, commands, last lines.
    assert found.text.count("<script>window.hostile = true</script>") > 20
    assert "{{ 7 * 7 }}" in found.text


def test_no_control_character_and_no_half_pair_is_left(hostile):
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", hostile)


def test_every_id_is_there_once_and_every_reference_leads_somewhere():
    results = eventful_results()
    html = report_html(page(results, {}, [], {}), drawn(results))
    tags = Tags(html).tags
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    referred = re.findall(r'(?:href="|url\()#([^")]+)', html)
    labels = [attrs.get("aria-labelledby", "") for _, attrs in tags]
    assert {*referred, *" ".join(labels).split()} <= set(ids)


def test_headings_are_in_order():
    levels = [
        int(tag[1])
        for tag, _ in Tags(report_html(page(eventful_results(), {}, [], {}), [])).tags
        if re.fullmatch(r"h[1-6]", tag)
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_the_page_refers_to_nothing_outside():
    results = eventful_results()
    html = report_html(page(results, {}, [], {}), drawn(results))
    for _, attrs in Tags(html).tags:
        assert not {"src", "srcset", "data", "action"} & set(attrs)
        assert attrs.get("href", "#").startswith("#")
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)


def test_same_results_same_page():
    results = eventful_results()
    once, again = (report_html(page(results, {}, [], {}), drawn(results)) for _ in range(2))
    assert once == again


def test_the_page_of_1200_logs_is_below_2_mb():
    plan, runs = {"campaign": "large", "cells": []}, []
    for batch, precision in itertools.product(range(16, 400, 16), ("fp32", "amp")):
        kept = {"variant": f"bz{batch}", "precision": precision, "batch_size_per_device": batch}
        speeds = {
            topology: [100.0 * ranks + repeat for repeat in range(5)]
            for topology, ranks in {"1n1g": 1, "1n4g": 4, "1n8g": 8, "2n8g": 16, "4n8g": 32}.items()
        }
        cells, more = campaign(speeds, **kept)
        plan["cells"] += cells["cells"]
        runs += more
    results = build_results(plan, runs)
    assert len(runs) == 1200
    html = report_html(page(results, plan, runs, {}), drawn(results))
    assert len(html.encode()) < 2_000_000


def test_an_inline_plot_keeps_its_words_and_takes_the_pages_colours():
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9pt" viewBox="0 0 9 9"'
        ' aria-labelledby="title desc"><title id="title">#0072b2</title><desc id="desc"/>'
        '<style>*{}</style><path id="a" clip-path="url(#b)" style="stroke: #0072b2"/></svg>'
    )
    made = inline_svg(svg, "x-", PAGE_COLOURS)
    assert 'aria-labelledby="x-title x-desc"' in made
    assert ">#0072b2<" in made
    assert "stroke: var(--series-1)" in made
    assert 'clip-path="url(#x-b)"' in made
    assert "<style" not in made
    assert "width" not in made
    with pytest.raises(ValueError, match="no SVG"):
        inline_svg("<svg", "x-", {})
