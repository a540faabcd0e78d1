"""Claims: what a document may hold, and what comes out against the logs."""

import copy
from pathlib import Path

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.published.claims import (
    claims_of,
    claims_text,
    judge_claims,
)
from ansible_collections.scalebench.core.plugins.module_utils.strategies import (
    STRATEGIES,
    parameters_of,
)
from published_data import all_rows

DOCUMENT = yaml.safe_load("""
schema: 1
title: A table
folder: logs
common: {strategy: mean, statistic: median, rounding: numpy_2, count: 3}
claims:
  - {id: one, logs: 1n1g/*.log, claimed: 10.0}
  - {id: eight, logs: 1n8g/*.log, claimed: 75.0, parameters: {warmup: 20}}
  - id: ratio
    of: eight
    over: one
    rounding: numpy_2
    claimed: 7.6
    expected: differs
    note: Misprint.
""")


def logs(*values, reason=""):
    return [
        {"path": f"{i}.log", "value": value, "reason": reason, "strategy": "mean"}
        for i, value in enumerate(values, 1)
    ]


FOUND = {"one": logs(9.999, 10.004, 10.001), "eight": logs(74.0, 75.001, 76.0)}


def test_defaults_common_and_folder():
    one, eight, ratio = claims_of(DOCUMENT, "x.yml")
    assert (one["reader"], one["figure"], one["parameters"]) == ("auto", "throughput", {})
    assert (one["strategy"], one["count"], one["folder"]) == ("mean", 3, "logs")
    assert eight["parameters"] == {"warmup": 20}
    assert (ratio["of"], ratio["over"], ratio["count"]) == ("eight", "one", None)


def test_verdicts():
    result = judge_claims(claims_of(DOCUMENT), FOUND)
    assert [(row["id"], row["recomputed"], row["verdict"]) for row in result["claims"]] == [
        ("one", 10.0, "confirmed"),
        ("eight", 75.0, "confirmed"),
        ("ratio", 7.5, "differs"),
    ]
    assert [row["difference"] for row in result["claims"]] == [0.0, 0.0, -0.1]
    assert [row["rule"] for row in result["claims"]] == [
        "mean, median of 3 logs, numpy_2",
        "mean (warmup 20), median of 3 logs, numpy_2",
        "eight / one, numpy_2",
    ]
    assert (result["confirmed"], result["differs"], result["impossible"]) == (2, 1, 0)
    assert result["as_expected"]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ({}, "no log matches 1n1g/*.log"),
        ({"one": logs(1.0, 2.0)}, "2 logs match 1n1g/*.log, 3 needed"),
        (
            {"one": logs(1.0, None, 2.0, reason="it ends early")},
            "1 of 3 logs give no figure; 2.log: it ends early",
        ),
        (
            {"one": logs(None, 1.0, 2.0, reason="1.log: no step")},
            "1 of 3 logs give no figure; 1.log: no step",
        ),
    ],
)
def test_what_cannot_be_computed_says_why(found, reason):
    result = judge_claims(claims_of(DOCUMENT), {**FOUND, "one": [], **found})
    one, eight, ratio = result["claims"]
    assert (one["verdict"], one["recomputed"], one["reason"]) == ("impossible", None, reason)
    assert eight["verdict"] == "confirmed"
    assert (ratio["verdict"], ratio["reason"]) == ("impossible", "eight or one has no value")
    assert not result["as_expected"]


def test_a_single_log_is_needed_for_a_single_figure():
    document = {"schema": 1, "claims": [{"id": "a", "logs": "*", "claimed": 1.5}]}
    assert judge_claims(claims_of(document), {"a": logs(1.5)})["confirmed"] == 1
    result = judge_claims(claims_of(document), {"a": logs(1.5, 1.5)})
    assert result["claims"][0]["reason"] == "2 logs match *, 1 needed"


def test_text():
    result = judge_claims(claims_of(DOCUMENT), FOUND)
    lines = claims_text([{"title": "A table", **result}]).splitlines()
    assert [line[:63].rstrip() for line in lines] == [
        "A table",
        "",
        "| claim | claimed | recomputed | difference | verdict   | rule",
        "| ----- | ------: | ---------: | ---------: | --------- | -----",
        "| one   |    10.0 |       10.0 |        0.0 | confirmed | mean,",
        "| eight |    75.0 |       75.0 |        0.0 | confirmed | mean",
        "| ratio |     7.6 |        7.5 |       -0.1 | differs   | eight",
        "",
        "ratio: differs. Misprint.",
        "3 claims: 2 confirmed, 1 differs, 0 impossible",
    ]
    with pytest.raises(ValueError, match="what published_claims_info returns is needed"):
        claims_text({"x": 1})


def change(path, value):
    document = copy.deepcopy(DOCUMENT)
    at = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schema",), "1", "x.schema: '1': this reads schema 1"),
        (("author",), "me", "unknown key 'author'; known: schema, title"),
        (("claims",), [], "x.claims: a list of claims is needed"),
        (("claims", 0), "x" * 5000, r"x.claims\[0\]: a mapping is needed, not 'x{79}$"),
        (("claims", 0), "one", r"x.claims\[0\]: a mapping is needed, not 'one'"),
        (("claims", 0, "id"), None, r"claims\[0\]: id is missing"),
        (("claims", 1, "id"), "one", "a claim above it has the same id"),
        (("claims", 0, "claimed"), "10", r"claims\[0\] \(one\): claimed '10' is not a number"),
        (("claims", 0, "claimed"), True, "is not a number"),
        (("claims", 0, "statistic"), "mode", "statistic 'mode' is not one of single, median, mean"),
        (("claims", 0, "rounding"), "half", "rounding 'half' is not one of none"),
        (("claims", 0, "parameters"), "warmup", "a mapping is needed"),
        (("claims", 0, "logs"), "../x.log", "a path below the folder of the logs is needed"),
        (("claims", 0, "logs"), "/x.log", "a path below the folder"),
        (("folder",), "a/../..", "a path below the folder"),
        (("claims", 0, "logs"), None, "give either logs, or of and over"),
        (("claims", 2, "logs"), "x.log", "give either logs, or of and over"),
        (("claims", 2, "over"), None, "give either logs, or of and over"),
        (("claims", 2, "over"), "two", "no claim 'two' above it; there are: one, eight"),
    ],
)
def test_a_wrong_document_is_refused_with_the_place(path, value, message):
    with pytest.raises(ValueError, match=message):
        claims_of(change(path, value), "x")


def test_what_is_no_document():
    with pytest.raises(ValueError, match="claims, document: a mapping is needed"):
        claims_of(None)


FOLDER = Path(__file__).resolve().parents[3] / "published" / "claims"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yml")), ids=lambda path: path.stem)
def test_documents_of_this_project_are_right_and_name_known_rules(path):
    claims = claims_of(yaml.safe_load(path.read_text(encoding="utf-8")), path.name)
    for claim in claims:
        if claim["logs"]:
            assert parameters_of(claim["strategy"], claim["parameters"])
        assert claim["expected"] == "confirmed" or claim["note"]


def test_strategies_of_published_documents_are_known():
    named = {row["strategy"] for row in all_rows() if row["strategy"]}
    assert len(named) >= 9 and named <= set(STRATEGIES)


def is_figure(erratum):
    return (erratum.get("correct") or "").replace(".", "", 1).isdigit()


def test_a_published_claim_is_a_published_figure():
    """Each figure that is claimed stands in a row of published/ too, quotients apart."""
    figures = {figure for row in all_rows() for figure in (row["throughput"], row["average"])}
    corrected = {float(e["correct"]) for row in all_rows() for e in row["errata"] if is_figure(e)}
    for path in FOLDER.glob("*.yml"):
        for claim in claims_of(yaml.safe_load(path.read_text(encoding="utf-8"))):
            if claim["logs"]:
                assert claim["claimed"] in figures | corrected, (path.name, claim["id"])
