"""JUnit XML is valid, counts what the results count, and no log line breaks it."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    check_gate,
    judge_gate,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.junit import junit_text
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from hypothesis import given, settings
from hypothesis import strategies as st
from junit_schema import checked
from report_data import REFERENCE_004, campaign, cell, disturbed, recorded


def built(*runs, cells=None, **of_plan):
    known = cells or [runs[0]["cell"]]
    return build_results({"campaign": "mine", "cells": known, **of_plan}, runs)


def cases(root):
    return {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}


def test_a_campaign_that_went_well():
    plan, runs = campaign(REFERENCE_004)
    root = checked(junit_text(build_results({**plan, "created": "2026-11-21T02:45:00Z"}, runs)))
    (suite,) = root
    assert suite.get("name") == "pytorch.fp32.bz4.r50"
    assert suite.get("timestamp") == "2026-11-21T02:45:00"
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("36", "0", "0")
    assert float(suite.get("time")) == 36 * 9.0
    case = cases(root)["pytorch.fp32.bz4.r50", "4n8g/2"]
    assert case.get("time") == "9.000"
    assert case.find("system-out").text == "throughput 9353.71 images/s"
    figures = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert figures["unit"] == "images/s"
    assert figures["4n8g median_speed"] == "9348.17"
    assert figures["4n8g speedup"] == "26.5"


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        *(("invalid", "failure"), ("nan_loss", "failure"), ("skipped", "skipped")),
        *(("crashed", "error"), ("timeout", "error"), ("unavailable", "error")),
    ],
)
def test_each_ending_has_its_element(ending, kind):
    of = cell("1n1g", repeats=2)
    bad = recorded(of, 1, None, ending=ending, reason="node2: said no")
    root = checked(junit_text(built(bad), {bad["log"]: ["the last", "words"]}))
    found = cases(root)
    (told,) = found["pytorch.fp32.bz4.r50", "1n1g/1"].findall(kind)
    assert (told.get("type"), told.get("message")) == (ending, "node2: said no")
    assert found["pytorch.fp32.bz4.r50", "1n1g/1"].find("system-out").text == "the last\nwords"
    (planned,) = found["pytorch.fp32.bz4.r50", "1n1g/2"].findall("skipped")
    assert planned.get("type") == "not_run"


def test_repeats_are_in_order_and_say_what_disturbed_them():
    of = cell("1n1g", repeats=3)
    root = checked(junit_text(built(recorded(of, 2, 24.0, disturbances=disturbed()))))
    assert [case.get("name") for case in root.iter("testcase")] == ["1n1g/1", "1n1g/2", "1n1g/3"]
    assert "disturbed: node2: a process took" in next(root.iter("system-out")).text


def test_what_failed_beside_the_cells_is_there_too():
    of = cell("1n1g", repeats=1)
    packed = recorded(of, 1, 24.0, packed_with=["logs/other.log"])
    alone = recorded(
        of, 1, None, kind="alone", log="logs/1n1g/1_alone.log", ending="stalled", reason="quiet"
    )
    results = built(packed, alone, options={"packing": "nodes"})
    root = checked(junit_text(results))
    assert root.get("errors") == "1" == str(len(results["failures"]))
    assert cases(root)["beside the cells", "logs/1n1g/1_alone.log"].find("error") is not None


def test_each_rule_of_a_gate_is_a_testcase():
    plan, runs = campaign({"1n1g": [24.0, 24.1, 24.2], "2n1g": [30.0, 30.1, 30.2]})
    results = build_results(plan, runs)
    rules = check_gate(
        {
            "rules": [
                {"max_cv": 0.5},
                {"min_efficiency": 0.9, "where": {"topology": "2n1g"}},
                {"min_throughput": 30.1, "where": {"topology": "2n1g"}},
                {"max_cv": 0.5, "where": {"precision": "amp"}},
            ]
        },
        False,
    )
    results["gate"] = judge_gate(results, rules, "gates/mine.yml")
    root = checked(junit_text(results))
    assert root.get("failures") == "2"
    cases = [case for case in root.iter("testcase") if case.get("classname") == "gate"]
    kept, broken, noisy, empty = cases
    assert len(kept) == 0
    assert noisy.find("skipped").get("type") == "undecided"
    assert "do not show on which side of 30.1" in noisy.find("skipped").get("message")
    assert empty.find("failure").get("type") == "undecided_and_failed"
    assert "2n1g" in broken.get("name")
    assert broken.find("failure").get("type") == "broken_rule"


def test_dots_in_names_make_no_packages():
    of = cell("1n1g", repeats=1, benchmark="ngc/tensorflow.20.03")
    suite = checked(junit_text(built(recorded(of, 1, 24.0))))[0]
    assert suite.get("name") == "ngc/tensorflow_20_03.fp32.bz4.r50"


@pytest.mark.parametrize("seconds", [None, 0, 1e-7, 1234567.8])
def test_any_time_is_written_as_the_schema_wants(seconds):
    checked(junit_text(built(recorded(cell("1n1g"), 1, 24.0, seconds=seconds))))


@settings(max_examples=30)
@given(st.text(st.characters(exclude_categories=())))
def test_hostile_text_stays_text(text):
    hostile = f"]]></system-out><x a='\"&{text}\x00\x1b[31m\ufffe\ud800"
    of = cell("1n1g", repeats=1, benchmark=f"b{hostile}")
    bad = recorded(of, 1, None, ending="crashed", reason=hostile)
    root = checked(junit_text(built(bad), {bad["log"]: [hostile]}))
    assert next(root.iter("error")).get("message").startswith("]]></system-out><x a='\"&")
