"""The plot of a step's parts: its bars, its words, and its place in a report."""

from __future__ import annotations

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.facts.logtree import group_logs
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import FIGURES
from ansible_collections.scalebench.core.plugins.module_utils.report.step_text import (
    DRAWN_PARTS,
    describe_parts,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.report_figures import step_figure
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import _plots

CELL = {
    "topology": "4n1g",
    "devices": 4,
    "batch_size_per_device": 4,
    "oversubscribed": False,
    "cores": None,
    "speedup": 2.5,
    "one_device_seconds": 0.1,
    "small_batch_seconds": None,
    "input_seconds": None,
    "all_reduce_seconds": None,
    "all_reduce_error": None,
    "hidden_seconds": None,
}
MS = {"compute": 100.0, "exchange": 30.0, "imbalance": 20.0, "core_wait": 4.0}


def parts(**ms):
    """Return results of one step of these parts in ms; None where one was not measured."""
    given = {**MS, "unexplained": 6.0, **ms}
    seconds = {f"{name}_seconds": value and value / 1000 for name, value in given.items()}
    step = sum(value or 0.0 for value in seconds.values())
    names = {"benchmark": "b", "precision": "fp32", "variant": "bz4", "model": "m"}
    group = {**names, "scaling": "weak"}
    cells = [{**CELL, **seconds, "step_seconds": step}]
    return {"step_parts": {"groups": [{**group, "gradient_bytes": None, "cells": cells}]}}


def bars(results):
    """Return the bars from left to right: part, begin and end in ms."""
    (axes,) = step_figure(results["step_parts"]).axes
    found = []
    for container in axes.containers:
        (bar,) = container.patches
        begin, end = sorted((bar.get_x(), bar.get_x() + bar.get_width()))
        found.append((container.get_label(), begin, end))
    return found


def test_the_parts_stand_beside_each_other_up_to_the_measured_step():
    found = bars(parts())
    drawn = [name for name in DRAWN_PARTS.values() if name not in ("smaller batch", "input")]
    assert [name for name, _, _ in found] == drawn
    ends = [end for _, _, end in found]
    assert ends == pytest.approx([100, 130, 150, 154, 160])
    assert [begin for _, begin, _ in found] == pytest.approx([0, *ends[:-1]])


def test_a_line_across_the_bar_marks_the_measured_step():
    (axes,) = step_figure(parts()["step_parts"]).axes
    line, bar = axes.get_lines()[0], axes.patches[0]
    assert line.get_xdata() == pytest.approx([160, 160])
    low, high = sorted(line.get_ydata())
    assert low < bar.get_y() < bar.get_y() + bar.get_height() < high


def test_parts_below_0_stand_left_of_it_beside_each_other():
    found = bars(parts(unexplained=-24.0))
    assert found[-2][2] == pytest.approx(154)
    assert found[-1][1:] == pytest.approx((-24, 0))
    found = bars(parts(small_batch=-5.0, unexplained=-24.0))
    assert found[1][1:] == pytest.approx((-5, 0))
    assert found[-1][1:] == pytest.approx((-29, -5))
    (axes,) = step_figure(parts(unexplained=-24.0)["step_parts"]).axes
    assert [0, 0] in [list(line.get_xdata()) for line in axes.get_lines()]


def test_a_part_that_nobody_measured_is_none_of_the_drawing():
    assert describe_parts(parts(unexplained=None, exchange=None)) == {}
    assert bars(parts(core_wait=None))[-1][2] == pytest.approx(156)


def test_a_report_with_parts_has_the_plot_and_its_words():
    results = parts()
    described = describe_parts(results)
    assert described["step_parts"] == (
        "Parts of a step by topology. b fp32 bz4 4n1g, 160.0 ms: computation 100.0 ms, exposed"
        " exchange 30.0 ms, imbalance 20.0 ms, no core 4.0 ms, unexplained 6.0 ms."
    )
    assert set(_plots({"cells": [], **results}, described, png=True)) == {
        "step_parts.svg",
        "step_parts.png",
    }


@pytest.mark.parametrize("figure", FIGURES)
def test_a_plot_of_an_earlier_report_is_no_unknown_file_of_a_tree(figure):
    found = group_logs([f"{figure}.svg", f"{figure}.png"])
    assert found["unmatched"] == []


def test_the_words_above_the_bars_are_within_the_drawing():
    results = parts()
    results["step_parts"]["groups"][0]["variant"] = "gb1024-strong-amp-dali-real-224px"
    figure = step_figure(results["step_parts"])
    figure.canvas.draw()
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width, text.get_text()
