"""Prometheus' own parser reads the text file, and finds the figures of the results."""

from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    judge_gate,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.exports import prometheus_text
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from report_data import REFERENCE_004, campaign, cell, recorded


def parsed(text):
    """Return {metric: [(labels, value)]} as Prometheus reads it."""
    assert text.endswith("\n")
    families = list(text_string_to_metric_families(text))
    assert all(family.type == "gauge" and family.documentation for family in families)
    assert len({family.name for family in families}) == len(families)
    return {
        family.name: [(sample.labels, sample.value) for sample in family.samples]
        for family in families
    }


def by_topology(samples):
    return {labels["topology"]: value for labels, value in samples}


def test_the_figures_are_those_of_the_results():
    plan, runs = campaign(REFERENCE_004)
    results = build_results({**plan, "created": "2026-11-21T02:45:00Z"}, runs)
    found = parsed(prometheus_text(results))
    for name, key in (
        ("scalebench_throughput_samples_per_second", "median_speed"),
        ("scalebench_speedup_ratio", "speedup"),
        ("scalebench_scaling_efficiency_ratio", "efficiency"),
    ):
        assert by_topology(found[name]) == {c["topology"]: c[key] for c in results["cells"]}
    bounds = found["scalebench_throughput_interval_samples_per_second"]
    low = [value for labels, value in bounds if labels["bound"] == "low"]
    assert low == [c["interval"]["low"] for c in results["cells"]]
    assert found["scalebench_campaign_created_timestamp_seconds"] == [({}, 1795229100)]
    assert found["scalebench_campaign_info"] == [({"campaign": "mine", "schema": "3"}, 1)]
    labels, _ = found["scalebench_throughput_samples_per_second"][0]
    assert labels == {
        "benchmark": "pytorch",
        "model": "r50",
        "precision": "fp32",
        "variant": "bz4",
        "topology": "1n1g",
        "unit": "images/s",
    }


def test_what_was_not_measured_has_no_line():
    of = cell("2n1g", repeats=3)
    bad = recorded(of, 1, None, ending="crashed", reason="x")
    found = parsed(prometheus_text(build_results({"campaign": "m", "cells": [of]}, [bad])))
    assert set(found) == {"scalebench_repeats", "scalebench_campaign_info"}
    endings = {labels["ending"]: value for labels, value in found["scalebench_repeats"]}
    assert endings == {"crashed": 1, "not_run": 2}


def test_rules_of_a_gate_are_counted_by_verdict():
    plan, runs = campaign(REFERENCE_004)
    results = build_results(plan, runs)
    rules = [
        {"metric": "max_cv", "value": value, "where": where}
        for value, where in ((0.5, {}), (0.5, {"precision": "amp"}), (0.6, {}))
    ]
    results["gate"] = judge_gate(results, rules, "x")
    found = parsed(prometheus_text(results))["scalebench_gate_rules"]
    assert {labels["verdict"]: value for labels, value in found} == {
        **{"passed": 2, "broken": 0},
        "undecided": 1,
    }


def test_no_series_is_there_twice():
    plan, runs = campaign(REFERENCE_004)
    amp, more = campaign(REFERENCE_004, precision="amp")
    both = {**plan, "cells": [*plan["cells"], *amp["cells"]]}
    for samples in parsed(prometheus_text(build_results(both, [*runs, *more]))).values():
        assert len({tuple(sorted(labels.items())) for labels, _ in samples}) == len(samples)


@settings(max_examples=30)
@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=40))
def test_hostile_labels_are_escaped(text):
    hostile = f'a"}} 7\n# TYPE x counter\\n{text}\\'
    of = cell("1n1g", repeats=1, benchmark=hostile)
    results = build_results({"campaign": hostile, "cells": [of]}, [recorded(of, 1, 24.0)])
    found = parsed(prometheus_text(results))
    (labels, value), *more = found["scalebench_throughput_samples_per_second"]
    assert not more
    assert value == 24.0
    assert labels["benchmark"].startswith('a"} 7 # TYPE x counter\\n')
