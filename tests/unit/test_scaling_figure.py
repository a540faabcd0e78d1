"""The drawings: the same bytes each time, well-formed, every group and figure in them."""

import xml.etree.ElementTree as ET

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import (
    FIGURES,
    plot_series,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import (
    png_bytes,
    svg_text,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.scaling_figure import scaling_figure
from report_data import REFERENCE_004, campaign

SVG = "{http://www.w3.org/2000/svg}"


def draw(series, figure, description):
    return svg_text(scaling_figure(series, figure), FIGURES[figure], description)


def texts(svg):
    return [node.text for node in ET.fromstring(svg).iter(f"{SVG}text") if node.text]


@pytest.mark.parametrize("figure", ["throughput", "speedup"])
def test_same_input_same_bytes_and_accessible(figure):
    series = plot_series(build_results(*campaign(REFERENCE_004)))
    svg = draw(series, figure, "words & <more>")
    assert svg == draw(series, figure, "words & <more>")
    root = ET.fromstring(svg)
    assert root.find(f"{SVG}desc").text == "words & <more>"
    assert root.get("role") == "img"
    assert "pytorch fp32" in texts(svg)
    assert "ideal" in " ".join(texts(svg))
    assert "4n8g" in " ".join(texts(svg))


def test_the_axis_has_the_unit_of_the_logs():
    plan, runs = campaign({"1n1g": [10.0], "2n1g": [19.0]})
    for run in runs:
        run["facts"]["unit"] = "tokens/s"
    (axes,) = scaling_figure(plot_series(build_results(plan, runs)), "throughput").axes
    assert axes.get_ylabel() == "throughput, tokens/s"


def test_large_throughputs_stand_on_the_axis_as_in_the_tables():
    speeds = {"1n1g": [1e6, 1.1e6, 1.2e6], "1n8g": [8e6, 8.1e6, 8.2e6]}
    shown = texts(draw(plot_series(build_results(*campaign(speeds))), "throughput", ""))
    assert {"1,000,000", "5,000,000"} < {*shown}
    assert not any("e+" in text for text in shown)


def test_all_figures_are_within_the_axis():
    series = plot_series(build_results(*campaign(REFERENCE_004)))
    for figure in ("throughput", "speedup", "efficiency"):
        for axes in scaling_figure(series, figure).axes:
            low, high = axes.get_ylim()
            drawn = [value for line in axes.get_lines() for value in line.get_ydata()]
            assert drawn and low < min(drawn) and max(drawn) < high
            left, right = axes.get_xlim()
            counts = [count for line in axes.get_lines() for count in line.get_xdata()]
            assert left < min(counts) < 1.5 * left and right / 1.5 < max(counts) < right


def test_oversubscribed_is_said():
    series = plot_series(build_results(*campaign({"1n1g": [10.0], "2n1g": [9.0]})))
    assert "hollow" not in " ".join(texts(draw(series, "speedup", "")))
    series[0]["points"][1]["oversubscribed"] = True
    assert "hollow: oversubscribed" in " ".join(texts(draw(series, "speedup", "")))


def test_nothing_and_no_baseline_have_a_sentence():
    assert "no throughput was measured" in texts(draw([], "throughput", ""))
    series = plot_series(build_results(*campaign({"2n1g": [9.0]})))
    assert "no 1n1g throughput to compare with" in texts(draw(series, "speedup", ""))


def test_more_groups_than_can_be_told_apart_are_counted():
    plan, runs = {"campaign": "x", "cells": []}, []
    for batch in range(1, 31):
        one, more = campaign({"1n1g": [10.0 * batch]}, variant=f"bz{batch}")
        plan["cells"] += one["cells"]
        runs += more
    drawn = " ".join(texts(draw(plot_series(build_results(plan, runs)), "throughput", "")))
    assert "the first 24 of 30 groups" in drawn


def test_the_png_is_the_same_each_time_and_tells_no_version():
    series = plot_series(build_results(*campaign(REFERENCE_004)))
    once, again = (png_bytes(scaling_figure(series, "speedup")) for _ in range(2))
    assert once == again
    assert once.startswith(b"\x89PNG")
    # Width and height stand in the header: 5.5 inches of 144 dots.
    assert int.from_bytes(once[16:20], "big") == 792
    assert b"matplotlib" not in once.lower()
