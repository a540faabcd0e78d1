"""The plot of a trend: valid, with a text alternative, the same every time."""

from xml.etree import ElementTree

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.history.history import build_history
from ansible_collections.scalebench.core.plugins.module_utils.history.history_text import describe
from ansible_collections.scalebench.core.plugins.module_utils.history.trends import entry
from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import svg_text
from ansible_collections.scalebench.core.plugins.plugin_utils.trend_figure import trend_figure
from history_data import nightly, results_of

SVG = "{http://www.w3.org/2000/svg}"


def drawn(results):
    (trend,) = build_history([entry(one, one["campaign"]) for one in results], (), {})["trends"]
    return svg_text(trend_figure(trend), trend["label"], describe(trend)), trend


def test_marks_are_in_the_legend_and_the_text_alternative():
    results = nightly([100] * 10 + [95] * 5, seed=4)
    results[3]["cells"][0]["median_speed"] = 70.0
    svg, _ = drawn(results)
    root = ElementTree.fromstring(svg)
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", "title desc")
    assert "Change on 2026-09-11" in root.find(f"{SVG}desc").text
    words = {text.text for text in root.iter(f"{SVG}text")}
    assert {"outlier", "change point", "level", "interval"} <= words
    assert "throughput, images/s" in words


def test_the_same_trend_gives_the_same_bytes():
    results = nightly([100] * 3)
    assert drawn(results)[0] == drawn(results)[0]


def test_many_campaigns_name_few_dates_and_those_of_a_day_their_time():
    svg, _ = drawn(nightly([100] * 60))
    dates = [text for text in ElementTree.fromstring(svg).iter(f"{SVG}text") if "2026" in text.text]
    assert len(dates) == 5
    one_day = [results_of(0, {"1n1g": [100.0]}, name=name) for name in "ab"]
    texts = [text.text for text in ElementTree.fromstring(drawn(one_day)[0]).iter(f"{SVG}text")]
    assert "02:30" in texts


@pytest.mark.parametrize("name", ["a$b_{$", "<script>", "x" * 300])
def test_hostile_names_are_only_text(name):
    svg, _ = drawn([results_of(day, {"1n1g": [99.0]}, benchmark=name) for day in (0, 1)])
    assert ElementTree.fromstring(svg).find(f"{SVG}title").text.startswith(name[:8])
    assert "<script>" not in svg
