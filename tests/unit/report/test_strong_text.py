"""What a report says and draws of strong and of weak scaling."""

import xml.etree.ElementTree as ET

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report.headline import headline
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import (
    FIGURES,
    describe,
    drawn_figures,
    plot_series,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.strong_text import (
    strong_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.text import (
    report_markdown,
    terminal_table,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.results.strong_scaling import (
    strong_scaling,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import svg_text
from ansible_collections.scalebench.core.plugins.plugin_utils.scaling_figure import scaling_figure
from report_data import campaign


def modes(strong=None, **weak):
    """Return results of both modes: weak of batch 4, strong of the global batch 8."""
    plan, runs = campaign(weak or {"1n1g": [10.0, 10.2], "2n1g": [18.0, 18.4]})
    changes = {"variant": "gb8-strong", "scaling": "strong", "global_batch_size": 8}
    more, others = campaign(strong or {"2n1g": [20.0, 20.4], "4n1g": [30.0, 30.4]}, **changes)
    for cell in more["cells"]:
        cell["batch_size_per_device"] = 8 // cell["nodes"]
    return build_results({**plan, "cells": plan["cells"] + more["cells"]}, runs + others)


def dashed(figure):
    """Return the points of each ideal line of a matplotlib figure, by their devices."""
    (axes,) = figure.axes
    lines = [line for line in axes.get_lines() if line.is_dashed() and len(line.get_xdata())]
    return [dict(zip(map(int, line.get_xdata()), line.get_ydata())) for line in lines]


def test_the_report_says_what_each_mode_is_relative_to():
    text = report_markdown(page(modes()))
    assert "Weak scaling: every device has the same batch" in text
    assert "Strong scaling: all devices together have the same batch" in text
    assert "gb8-strong: r50, global batch size 8, strong scaling" in text
    weak = report_markdown(page(build_results(*campaign({"1n1g": [1.0]}))))
    assert "Weak scaling" in weak
    assert "Strong scaling" not in weak
    assert "global batch size 8, strong scaling" in terminal_table(modes())


def test_the_section_has_times_and_the_serial_share():
    (section,) = strong_sections(modes())
    rows = [[cell["text"] for cell in row] for row in section["tables"][0]["rows"]]
    assert rows == [
        ["2n1g", "2", "4", "396.08", "396.08", "-"],
        ["4n1g", "4", "2", "264.91", "198.04", "33.77"],
    ]
    assert "pytorch fp32 gb8-strong: r50, global batch size 8: 33.7" in str(section["notes"])
    assert " %), 4 repeats" in str(section["notes"])
    assert strong_sections(build_results(*campaign({"1n1g": [1.0]}))) == []


def test_each_mode_is_drawn_against_its_own_ideal():
    series = plot_series(modes())
    throughput = dashed(scaling_figure(series, "throughput"))
    assert throughput[0] == pytest.approx({1: 10.1, 2: 20.2})
    assert throughput[1] == pytest.approx({2: 20.2, 4: 40.4})
    steps = dashed(scaling_figure(series, "step_time"))
    weak, strong = (500 * batch * (1 / low + 1 / (low * 1.02)) for batch, low in ((4, 10), (8, 20)))
    assert steps[0] == pytest.approx({1: weak, 2: weak})
    assert steps[1] == pytest.approx({2: strong, 4: strong / 2})
    speedup = dashed(scaling_figure(series, "speedup"))
    assert speedup == [{1: 1.0, 2: 2.0}, {2: 1.0, 4: 2.0}]


def test_the_drawn_time_of_a_step_is_that_of_the_table():
    results = modes()
    for cell in results["cells"]:
        for repeat in cell["repeats"]:
            repeat["elapsed_throughput"] = repeat["throughput"] * 0.9
    (group,) = strong_scaling(results["cells"])["groups"]
    _, strong = plot_series(results)
    drawn = [point["step"]["median"] for point in strong["points"]]
    assert drawn == [1000 * cell["step_seconds"] for cell in group["cells"]]
    assert drawn[0] == pytest.approx((1000 * 8 / 18 + 1000 * 8 / 18.36) / 2)


def test_speedup_and_efficiency_are_over_the_base_of_the_mode():
    series = plot_series(modes())
    said = describe(series, "speedup")
    assert "bz4, times 1n1g: 1n1g 1.00, 2n1g 1.80" in said
    assert "gb8-strong, times 2n1g: 2n1g 1.00, 4n1g 1.50" in said
    assert "4n1g 74.75" in describe(series, "efficiency")
    assert "2n1g 396.08" in describe(series, "step_time")
    svg = svg_text(scaling_figure(series, "efficiency"), FIGURES["efficiency"], "x")
    words = " ".join(node.text or "" for node in ET.fromstring(svg).iter())
    assert "74.75" in words


def test_the_time_of_a_step_is_drawn_with_strong_scaling_only():
    weak = drawn_figures(plot_series(build_results(*campaign({"1n1g": [1.0]}))))
    assert weak == ["throughput", "speedup", "efficiency"]
    assert drawn_figures(plot_series(modes())) == [*weak, "step_time"]


def test_results_that_are_older_than_the_modes_are_drawn():
    results = build_results(*campaign({"1n1g": [10.0], "2n1g": [19.0]}))
    for cell in results["cells"]:
        del cell["scaling"], cell["global_batch_size"]
    (series,) = plot_series(results)
    assert (series["strong"], series["base_topology"]) == (False, "1n1g")
    assert "Weak scaling" in report_markdown(page(results))


def test_the_head_has_the_scaling_of_each_mode():
    head = headline(modes())
    assert head["what"][0] == (
        "pytorch: training of r50 in fp32, batch size 4 per device, global batch size 8, weak,"
        " strong scaling, on 1n1g, 2n1g, 4n1g."
    )
    figures = {one["label"]: (one["value"], one["note"]) for one in head["figures"]}
    assert figures["speed-up, most devices"] == ("1.80 of 2", "2n1g, bz4")
    assert figures["scaling efficiency"] == ("90.10 %", "2n1g, bz4")
    assert figures["strong scaling: speed-up, most devices"] == ("1.50 of 2", "4n1g, gb8-strong")
    assert figures["strong scaling: efficiency"] == ("74.75 %", "4n1g, gb8-strong")
