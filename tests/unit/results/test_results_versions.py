"""Results of every schema that was ever written are read; anything else is refused by name."""

import copy
import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.report.exports import csv_text
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.provenance import method
from ansible_collections.scalebench.core.plugins.module_utils.report.text import terminal_table
from ansible_collections.scalebench.core.plugins.module_utils.results.results import (
    SCHEMA,
    build_results,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.versions import read
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import read_results
from report_data import campaign

# What schema 2 added to schema 1.
LATER = {
    "results": ("searches", "packing", "interference", "failures"),
    "provenance": ("checks", "controller", "sha256"),
    "counts": ("unavailable", "skipped"),
    "cell": ("adaptive", "invalid", "skipped", "unavailable", "unfinished", "warnings"),
    "repeat": (
        *("attempt", "disturbances", "earlier", "node_names", "packed_with", "shares_machine"),
        *("telemetry", "warnings"),
    ),
}


def without(mapping, keys):
    return {key: value for key, value in mapping.items() if key not in keys}


def as_schema_1(results):
    """Return results as the first version wrote them."""
    old = without(results, LATER["results"])
    old["schema"] = 1
    for key in ("provenance", "counts"):
        old[key] = without(old[key], LATER[key])
    old["cells"] = [
        {
            **without(cell, LATER["cell"]),
            "repeats": [without(repeat, LATER["repeat"]) for repeat in cell["repeats"]],
        }
        for cell in results["cells"]
    ]
    return old


@pytest.fixture
def results():
    plan, runs = campaign({"1n1g": [24.0, 24.2, 24.4], "2n1g": [44.0, 45.0, 43.0]})
    runs[-1].update(ending="crashed", reason="node2: exit code 1", facts=None)
    return json.loads(json.dumps(build_results(plan, runs)))


def test_the_current_schema_is_read_as_it_is(results):
    assert without(read(results), ("provenance",)) == without(results, ("provenance",))
    assert read(results)["provenance"] == {**results["provenance"], "created": None, "nodes": {}}


def test_schema_1_is_upgraded_to_what_its_records_give_today(results):
    old = as_schema_1(results)
    before = copy.deepcopy(old)
    upgraded = read(old)
    assert old == before, "what was given is not changed"
    assert without(upgraded, ("provenance",)) == without(results, ("provenance",))
    assert upgraded["provenance"]["checks"]["invalid_repeat"] == {}, "it was not checked"
    assert terminal_table(upgraded) == terminal_table(results)
    assert csv_text(upgraded) == csv_text(results)
    assert page(upgraded)["groups"] == page(results)["groups"]


def test_the_first_strategies_told_no_changes(results):
    old = as_schema_1(results)
    old["provenance"]["strategies"] = [{"name": "last", "parameters": {"warmup": 7}}]
    assert "here with warmup=7" in " ".join(method(read(old)))


def test_a_newer_schema_names_both_versions(results):
    with pytest.raises(ValueError, match=f"schema {SCHEMA + 1}, .* up to {SCHEMA}"):
        read({**results, "schema": SCHEMA + 1})


@pytest.mark.parametrize("foreign", [None, [], "x", {}, {"schema": "2"}, {"schema": True}])
def test_foreign_files_are_refused(foreign):
    with pytest.raises(ValueError, match="has no schema"):
        read(foreign)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("cells",), {}, "cells is {}, not a list"),
        (("provenance",), None, "provenance is None, not a mapping"),
        (("cells", 0), 3, r"cells\[0\] is 3, not a mapping"),
        (("cells", 1, "topology"), "2n8g", r"cells\[1\]: topology 2n8g does not fit"),
        (("cells", 1, "median_speed"), "44", r"cells\[1\].median_speed is '44', not a number"),
        (("cells", 1, "median_speed"), -1.0, "median_speed is -1.0, not a speed"),
        (("cells", 0, "repeats"), "none", r"cells\[0\].repeats is 'none', not a list"),
        (("cells", 0, "repeats", 2), [], r"cells\[0\].repeats\[2\] is \[\], not a mapping"),
        (("cells", 0, "spread"), [1], r"cells\[0\].spread is \[1\], not a mapping"),
        (("cells", 0, "spread"), {"cv": 1.0}, r"cells\[0\].spread has no n"),
        (("cells", 0, "spread", "cv"), "1 %", "spread.cv is '1 %', not a number"),
        (("cells", 1, "interval"), 3.0, r"cells\[1\].interval is 3.0, not a mapping"),
        (("cells", 1, "interval"), {"n": 3}, r"cells\[1\].interval has no high, low"),
        (("cells", 1, "interval", "low"), "43", "interval.low is '43', not a number"),
        (("provenance", "nodes"), [1], r"provenance.nodes is \[1\]"),
        (("provenance", "nodes"), {"node1": 1}, "nodes.node1 is 1, not a mapping"),
        (("provenance", "strategies"), {"name": "last"}, "strategies is .*, not a list"),
        (("provenance", "strategies"), ["last"], r"strategies\[0\] is 'last', not a mapping"),
        (("provenance", "options"), ["x"], "options is .*, not a mapping"),
        (("cells", 0, "repeats", 2, "throughput"), 0, "throughput is 0, not a speed above 0"),
    ],
)
def test_damage_is_refused_with_its_place(results, place, value, said):
    inner = results
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(ValueError, match=said):
        read(results)


@pytest.mark.parametrize("key", ["campaign", "cells", "facts"])
def test_missing_parts_are_named(results, key):
    with pytest.raises(ValueError, match=f"results has no {key}"):
        read(without(results, (key,)))
    del results["cells"][0]["median_speed"]
    with pytest.raises(ValueError, match=r"cells\[0\] has no median_speed"):
        read(results)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"schema": 2, ', "it is not a results.json: Expecting"),
        (b'{"schema": NaN}', "it holds nan"),
        (b"\xff\xfe", "not a results.json: .utf-8. codec"),
        (b"[" * 100_000, "nested too deep"),
        (None, "it cannot be read: No such file"),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path, content, said):
    path = tmp_path / "results.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        read_results(path)


def test_a_file_is_read(tmp_path, results):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(as_schema_1(results)))
    assert read_results(path)["cells"] == results["cells"]
