"""The plot of bus bandwidth over message size: its curves, its words, and its place in a report."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import matplotlib
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report.collectives_text import (
    describe_messages,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.text import (
    report_markdown,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import svg_text
from ansible_collections.scalebench.core.plugins.plugin_utils.report_figures import message_figure
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import _plots
from collective_data import LATENCY, PER_BYTE, SIZES, results_of
from report_data import campaign

RESULTS = results_of()


def test_each_topology_is_a_curve_on_logarithmic_axes():
    (axes,) = message_figure(RESULTS["collectives"]).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    curves = [line for line in axes.get_lines() if not line.is_dashed()]
    assert [line.get_label()[-4:] for line in curves] == ["2n1g", "4n1g"]
    for line, factor in zip(curves, (1.0, 1.5)):
        wanted = [size * factor / (LATENCY + size * PER_BYTE) / 1e6 for size in SIZES]
        assert list(line.get_xdata()) == list(SIZES)
        assert list(line.get_ydata()) == pytest.approx(wanted, rel=1e-3)
    assert sum(line.is_dashed() for line in axes.get_lines()) == 2


def test_a_law_that_does_not_hold_is_not_drawn():
    (axes,) = message_figure(results_of(sizes=SIZES[:2])["collectives"]).axes
    assert not any(line.is_dashed() for line in axes.get_lines())


def test_the_drawing_names_sizes_and_is_the_same_each_time():
    one, again = (svg_text(message_figure(RESULTS["collectives"]), "t", "d") for _ in range(2))
    assert one == again
    # What a matplotlibrc of the user may say.
    with matplotlib.rc_context({"text.usetex": True, "axes.facecolor": "black", "font.size": 30}):
        assert svg_text(message_figure(RESULTS["collectives"]), "t", "d") == one
    texts = [node.text for node in ET.fromstring(one).iter() if node.tag.endswith("}text")]
    assert {"1 KiB", "64 KiB", "1 MiB", "16 MiB", "bus bandwidth, MB/s"} <= {*texts}
    assert "marker: median of the repeats; dashed: the fitted law" in texts


def test_curves_beyond_those_that_can_be_told_apart_are_counted():
    found = {"groups": RESULTS["collectives"]["groups"] * 13}
    (axes,) = message_figure(found).axes
    assert len([line for line in axes.get_lines() if not line.is_dashed()]) == 24
    assert any(note.get_text().endswith("law; 2 more in the table") for note in axes.texts)


def test_a_report_of_collectives_has_the_plot_and_no_other_has():
    described = describe_messages(RESULTS)
    assert "all_reduce fp32 bz1-opall_reduce 2n1g: 1 KiB 3.39," in described["busbw"]
    assert "busbw" in page(RESULTS)["plots"]
    assert "](busbw.svg)" in report_markdown(page(RESULTS))
    files = _plots(RESULTS, described, png=True)
    assert set(files) == {"busbw.svg", "busbw.png"}
    assert "busbw" not in page(build_results(*campaign({"1n1g": [1.0]})))["plots"]
