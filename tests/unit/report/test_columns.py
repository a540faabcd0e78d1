"""One entry of the table of columns is a column of every output that it names."""

import csv
import io
import re

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report import columns
from ansible_collections.scalebench.core.plugins.module_utils.report.exports import (
    csv_text,
    prometheus_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.junit import junit_text
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.text import (
    report_markdown,
    terminal_table,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.provenance import units
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign, documented_rows


@pytest.fixture
def results():
    return build_results(*campaign({"1n1g": [10.0, 10.2], "2n1g": [19.0, 19.4]}))


def names(table):
    return [column["name"] for column in table["columns"]]


def test_a_new_column_stands_in_every_output(results, monkeypatch):
    added = columns.Column(
        "step_seconds",
        lambda cell: 4 * cell["devices"] / cell["median_speed"],
        ("terminal", "report", "csv", "junit", "prometheus"),
        "step, ms",
        factor=1000,
        decimals=1,
        metric="scalebench_step_seconds",
        about="Seconds of a step.",
    )
    monkeypatch.setattr(columns, "CELL_COLUMNS", (*columns.CELL_COLUMNS, added))
    assert "step, ms" in terminal_table(results)
    assert "396.0" in terminal_table(results)
    (table,) = page(results)["groups"][0]["summary"]["tables"]
    assert names(table)[-1] == "step, ms"
    assert table["rows"][0][-1]["text"] == "396.0"
    assert "| step, ms |" in report_markdown(page(results))
    rows = list(csv.DictReader(io.StringIO(csv_text(results))))
    assert float(rows[0]["step_seconds"]) == pytest.approx(4 / 10.1)
    assert '"1n1g step_seconds"' in junit_text(results)
    assert "# HELP scalebench_step_seconds Seconds of a step." in prometheus_text(results)


def test_the_unit_of_another_benchmark_is_the_heading_of_its_throughputs(results):
    for cell in results["cells"]:
        cell["unit"] = "sequences/s"
    assert "| sequences/s |" in terminal_table(results)
    group = page(results)["groups"][0]
    tables = [*group["summary"]["tables"], group["repeats"]["tables"][-1]]
    for table in tables:
        assert "sequences/s" in names(table)
        assert "samples/s" not in names(table)


def test_images_are_samples_as_in_the_reference_tables(results):
    assert {cell["unit"] for cell in results["cells"]} == {"images/s"}
    assert "| node_num | gpu_num | samples/s | speedup |" in terminal_table(results)


def test_a_figure_has_one_key_and_one_title():
    for table in (columns.CELL_COLUMNS, columns.REPEAT_COLUMNS):
        keys = [column.key for column in table]
        titles = [column.title for column in table if column.title]
        assert len(set(keys)) == len(keys)
        assert len(set(titles)) == len(titles)
    shared = {column.key: column.title for column in columns.CELL_COLUMNS if column.title}
    for column in columns.REPEAT_COLUMNS:
        assert shared.get(column.key, column.title) == column.title


def test_the_documentation_has_each_column_of_the_tables():
    told = " ".join(row[0] for row in documented_rows("reading-a-report.md", "The tables"))
    for column in (*columns.CELL_COLUMNS, *columns.REPEAT_COLUMNS):
        # Unit and convention stand once for several columns.
        assert re.split(r", m?s$|, MiB$|, FLOP/s$| \(", column.title)[0] in told, column.title


def test_the_terminal_shows_states_where_a_cell_is_not_plainly_measured(results):
    assert "state" not in terminal_table(results)
    results["cells"][1]["oversubscribed"] = True
    assert "| oversubscribed |" in terminal_table(results)


def test_a_repeat_without_a_speed_has_what_always_stands():
    plan, runs = campaign({"1n1g": [None]})
    table = page(build_results(plan, runs))["groups"][0]["repeats"]["tables"][-1]
    assert {"topology", "repeat", "samples/s", "ending"} <= {*names(table)}


def test_units_are_those_of_results_json(results):
    results["cells"][0]["unit"] = results["cells"][1]["unit"] = "sequences/s"
    known = units(results["cells"])
    for column in (*columns.CELL_COLUMNS, *columns.REPEAT_COLUMNS):
        if column.unit and not re.search(r"_(seconds|bytes|per_second)\b|seconds_", column.key):
            # Those of CSV name a part of what is one value in results.json: interval_low.
            key = next(key for key in sorted(known) if f"{column.key}_".startswith(f"{key}_"))
            assert known[key]
        if column.outputs != (columns.CSV,) and column.key in known:
            unit = "sequences/s" if column.unit == columns.SPEED else column.unit
            assert unit == known[column.key], column.key


def test_the_transport_is_a_column_where_it_was_recorded():
    plan, runs = campaign({"1n1g": [10.0], "2n1g": [19.0]})
    assert "transport" not in report_markdown(page(build_results(plan, runs)))
    runs[1]["nodes"] = {"node1": {"transport": ["NET/IB", "P2P/IPC"]}, "node2": {}}
    results = build_results(plan, runs)
    (table,) = page(results)["groups"][0]["summary"]["tables"]
    place = names(table).index("transport")
    assert [row[place]["text"] for row in table["rows"]] == ["-", "NET/IB, P2P/IPC, unknown"]
    (row, other) = csv.DictReader(io.StringIO(csv_text(results)))
    assert (row["transport"], other["transport"]) == ("", "NET/IB, P2P/IPC, unknown")
    assert [repeat["transport"] for cell in results["cells"] for repeat in cell["repeats"]] == [
        [],
        ["NET/IB", "P2P/IPC", "unknown"],
    ]
    runs[1]["ending"] = "crashed"
    crashed = build_results(plan, runs)["cells"][1]["repeats"][0]
    assert crashed["transport"] == ["NET/IB", "P2P/IPC"]


def test_an_expected_transport_that_nobody_told_is_a_warning():
    plan, runs = campaign({"1n1g": [10.0], "2n1g": [19.0]})
    runs[1]["cell"]["transport"] = "NET/IB"
    results = build_results(plan, runs)
    (finding,) = results["cells"][1]["warnings"]
    assert finding["rule"] == "transport_told"
    told = (
        "no rank told its transport, or not on all nodes, in 1 of 1 repeats; NET/IB was expected"
        " between the nodes"
    )
    assert finding["detail"].startswith(told)
    assert f"2n1g: unexpected: {told}" in " ".join(terminal_table(results).split())
    assert told in report_markdown(page(results))
    assert results["cells"][1]["transport"] == "NET/IB"
    runs[1]["nodes"] = {"node1": {"transport": ["NET/IB"]}, "node2": {"transport": []}}
    assert build_results(plan, runs)["cells"][1]["warnings"] == [finding]
    runs[1]["nodes"]["node2"] = {"transport": ["NET/IB"]}
    assert build_results(plan, runs)["cells"][1]["warnings"] == []
    runs[1]["cell"]["transport"], runs[1]["nodes"]["node2"] = "TCP/eth0", {}
    (finding,) = build_results(plan, runs)["cells"][1]["warnings"]
    assert "TCP/eth0 was expected between the nodes (1 MiB of messages" in finding["detail"]
