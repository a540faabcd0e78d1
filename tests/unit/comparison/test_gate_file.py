"""Gate files: what may stand in them."""

from pathlib import Path

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    METRICS,
    check_gate,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.verdicts import gate_of
from report_data import documented_rows

ROOT = Path(__file__).resolve().parents[3]


def test_a_gate_is_found_by_its_name(tmp_path):
    (tmp_path / "nightly.yml").write_text("rules: [{allowed_failures: 1}]")
    given = {"gates_dir": str(tmp_path), "baseline": ""}
    rule = {"metric": "allowed_failures", "value": 1, "where": {}}
    assert gate_of({**given, "gate": "nightly"}) == [rule]
    assert gate_of({**given, "gate": ""}) is None
    with pytest.raises(ValueError, match="there are nightly"):
        gate_of({**given, "gate": "daily"})


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_metric_is_documented_and_has_an_example(name):
    told = [row[0] for row in documented_rows("comparing-campaigns.md", "Gates")]
    assert f"`{name}`" in told, "add a row to the section Gates of docs/comparing-campaigns.md"
    examples = (ROOT / "gates/default.yml").read_text()
    assert f"- {name}:" in examples, "add an example to gates/default.yml"


def test_rules_with_and_without_selector():
    text = """
    rules:
      - max_regression: 0.03
        where: {precision: amp, topology: 4n*}
      - allowed_failures: 2
    """
    assert check_gate(yaml.safe_load(text), with_baseline=True) == [
        {
            "metric": "max_regression",
            "value": 0.03,
            "where": {"precision": "amp", "topology": "4n*"},
        },
        {"metric": "allowed_failures", "value": 2, "where": {}},
    ]


def test_options_stand_beside_the_metric():
    rule = {"deficit": 0.01, "alpha": 0.05, "undecided": "fail", "day_sd": 0.001}
    (found,) = check_gate({"rules": [rule]}, with_baseline=True)
    assert found == {
        **{"metric": "deficit", "value": 0.01, "where": {}},
        **{"alpha": 0.05, "undecided": "fail", "day_sd": 0.001},
    }


@pytest.mark.parametrize("path", sorted((ROOT / "gates").glob("*.yml")), ids=lambda path: path.stem)
def test_the_gates_of_the_project_can_be_used(path):
    assert check_gate(yaml.safe_load(path.read_text()), with_baseline=True)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (
            [{"max_regresion": 0.1}],
            "rule 1: there is no rule 'max_regresion'; the choices are m",
        ),
        ([{"max_cv": 0.1}, {"max_cv": 0.1, "min_speedup": 1}], "rule 2: one metric a rule"),
        ([{"where": {}}], "one metric a rule, not none"),
        ([{"max_cv": 0.1, "where": {"node": "x"}}], "where: there is no 'node'; the choices are b"),
        ([{"max_cv": 0.1, "where": {"topology": 4}}], "where: topology: 4 is not a text"),
        ([{"max_cv": 0.1, "where": "4n8g"}], "where: '4n8g' is not a mapping"),
        ([{"max_cv": "2 %"}], "max_cv: '2 %' is not a number of 0 or more: a share of the mean"),
        ([{"max_cv": "x" * 5000}], f"max_cv: '{'x' * 79} is not a number"),
        (["x" * 5000], f"rule 1: '{'x' * 79} is not a mapping"),
        ([{"max_cv": True}], "max_cv: True is not a number"),
        ([{"max_cv": float("nan")}], "max_cv: nan is not a number"),
        ([{"min_speedup": -1}], "min_speedup: -1 is not a number of 0 or more"),
        (
            [{"min_efficiency": 80}],
            "min_efficiency: 80 is not a share: a share of ideal scaling, 0.8",
        ),
        ([{"max_regression": 1}], "max_regression: 1 is not a share"),
        ([{"deficit": 0}], "deficit: 0 is not above 0: a share of the baseline's throughput"),
        ([{"deficit": 1}], "deficit: 1 is not a share: a share of the baseline's throughput"),
        ([{"non_inferior": 2}], "non_inferior: 2 is not a share"),
        ([{"deficit": 0.01, "alpha": 0.5}], "alpha: 0.5 is not a share above 0 and below 0.5"),
        ([{"deficit": 0.01, "alpha": "1 %"}], "alpha: '1 %' is not a share above 0"),
        ([{"allowed_failures": 1, "alpha": 0.01}], "alpha: allowed_failures counts"),
        ([{"max_cv": 0.1, "undecided": "no"}], "undecided: 'no' is neither pass nor fail"),
        ([{"max_cv": 0.1, "undecided": ["pass"]}], "is neither pass nor fail"),
        (
            [{"max_cv": 0.1, "day_sd": 0.001}],
            "day_sd: only deficit and min_throughput take it, not max_cv",
        ),
        ([{"deficit": 0.01, "day_sd": 1}], "day_sd: 1 is not a share below 1"),
        ([{"alpha": 0.01}], "one metric a rule, not none"),
        ([{"allowed_failures": 0.5}], "allowed_failures: 0.5 is not a whole number"),
        (["max_cv"], "rule 1: 'max_cv' is not a mapping"),
        ([], "rules: a list with at least one rule"),
        ({"max_cv": 0.1}, "rules: a list with at least one rule"),
    ],
)
def test_what_cannot_be_meant_is_refused(rules, said):
    with pytest.raises(ValueError) as refused:
        check_gate({"rules": rules}, with_baseline=True)
    assert said in str(refused.value)


@pytest.mark.parametrize("content", [None, [], "x", {}, {"rules": [], "more": 1}])
def test_what_is_no_gate_is_refused(content):
    with pytest.raises(ValueError, match="a gate is a mapping with one key, rules"):
        check_gate(content, with_baseline=True)


@pytest.mark.parametrize("metric", ["max_regression", "deficit", "non_inferior"])
def test_a_change_needs_a_baseline(metric):
    content = {"rules": [{metric: 0.03}]}
    with pytest.raises(ValueError, match="give -e baseline="):
        check_gate(content, with_baseline=False)
