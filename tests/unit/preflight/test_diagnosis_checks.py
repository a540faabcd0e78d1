"""A diagnosis that a campaign requires, and nodes that it leaves out."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.preflight.diagnosis_checks import (
    diagnosis_checks,
)

NODES = {"node1": {}, "node2": {}}
DAY = 86400


def required(suspects=(), **changed):
    content = {"ended": 10.0 * DAY, "nodes": ["node1", "node2"], "suspects": list(suspects)}
    diagnosis = {"file": "d.json", "content": content, "days": 7.0, "now": 12.5 * DAY, **changed}
    return {row["node"]: row for row in diagnosis_checks(NODES, {"diagnosis": diagnosis})}


def test_nodes_of_a_diagnosis_without_suspects_pass():
    rows = required()
    assert {row["verdict"] for row in rows.values()} == {"pass"}
    assert rows["node1"]["found"] == "nothing slow, 2.5 days old"


@pytest.mark.parametrize("kind, subject", [("node", "node2"), ("link", "node11 - node2")])
def test_only_a_suspect_fails(kind, subject):
    rows = required([{"kind": kind, "subject": subject, "what": f"slow {kind}"}])
    assert [rows[name]["verdict"] for name in NODES] == ["pass", "fail"]
    assert rows["node2"]["found"] == f"slow {kind}: {subject}"
    assert "-e exclude=d.json" in rows["node2"]["todo"]


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"content": None}, "no file d.json"),
        ({"content": []}, "is no diagnosis"),
        ({"content": {"nodes": ["node1", "node2"], "suspects": []}}, "is no diagnosis with a time"),
        ({"content": {"ended": 0, "nodes": ["x"], "suspects": []}}, "12.5 days old"),
        ({"content": {"ended": 12 * DAY, "nodes": ["x"], "suspects": []}}, "not in d.json"),
    ],
)
def test_what_says_nothing_of_a_node_fails(changed, found):
    rows = required(**changed)
    assert {row["verdict"] for row in rows.values()} == {"fail"}
    assert found in rows["node1"]["found"]


def test_an_undecided_diagnosis_fails_every_node():
    content = {"ended": 10.0 * DAY, "nodes": list(NODES), "suspects": [], "verdict": "undecided"}
    rows = required(content=content)
    assert {row["verdict"] for row in rows.values()} == {"fail"}
    assert "may hide in noise" in rows["node1"]["found"]
    assert "-e iterations=20" in rows["node1"]["todo"]


def test_a_node_that_is_left_out_is_a_warning():
    (row,) = diagnosis_checks(NODES, {"excluded": ["node3"], "exclude": "d.json"})
    assert (row["check"], row["node"], row["verdict"]) == ("exclude", "node3", "warn")
    assert row["found"] == "left out of the campaign: -e exclude=d.json"
