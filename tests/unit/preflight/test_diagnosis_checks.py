"""A diagnosis that a campaign requires, and nodes that it leaves out."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.exclusion import slowed
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.kinds import KINDS
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import judge
from ansible_collections.scalebench.core.plugins.module_utils.preflight.diagnosis_checks import (
    diagnosis_checks,
)
from diagnosis_data import measured, named

NODES = {"node1": {}, "node2": {}}
RACKS = {"rack1": ["node1", "node2"], "rack2": ["node3", "node4"]}
FOUR = [*RACKS["rack1"], *RACKS["rack2"]]
DAY = 86400


def required(suspects=(), **changed):
    content = {"ended": 10.0 * DAY, "nodes": ["node1", "node2"], "suspects": list(suspects)}
    diagnosis = {"file": "d.json", "content": content, "days": 7.0, "now": 12.5 * DAY, **changed}
    return {row["node"]: row for row in diagnosis_checks(NODES, {"diagnosis": diagnosis})}


def test_nodes_of_a_diagnosis_without_suspects_pass():
    rows = required()
    assert {row["verdict"] for row in rows.values()} == {"pass"}
    assert rows["node1"]["found"] == "nothing slow, 2.5 days old"


def failing(kind, subject, taking_part=FOUR, groups=RACKS):
    """Return the nodes that a suspect fails of those that take part in a campaign."""
    suspect = {"kind": kind, "subject": subject, "what": f"slow {kind}"}
    content = {"ended": 0.0, "nodes": FOUR, "suspects": [suspect], "groups": groups}
    diagnosis = {"file": "d.json", "content": content, "days": 7.0, "now": 0.0}
    rows = diagnosis_checks({name: {} for name in taking_part}, {"diagnosis": diagnosis})
    return [row["node"] for row in rows if row["verdict"] == "fail"]


@pytest.mark.parametrize(
    ("kind", "subject", "taking_part", "failed"),
    [
        ("device", "node2 3", ["node2", "3"], ["node2"]),
        ("link", "node1 - node2", FOUR, ["node1", "node2"]),
        ("link", "node1 - node2", ["node1", "node3", "node4"], []),
        ("group", "rack2", FOUR, RACKS["rack2"]),
        ("group", "rack2", ["node1", "node2", "node3"], ["node3"]),
        ("uplink", "rack1", FOUR, RACKS["rack1"]),
        ("uplink", "rack1 and rack2", FOUR, FOUR),
        ("uplink", "rack1 and rack2", RACKS["rack1"], []),
        ("uplink", "rack9", FOUR, FOUR),
        ("fabric", "rack1 and rack2", FOUR, FOUR),
        ("fabric", "rack1 and rack2", ["node1", "node2", "node3"], ["node1", "node2", "node3"]),
        ("fabric", "rack1 and rack2", RACKS["rack1"], []),
    ],
)
def test_those_whom_a_suspect_slows_down_fail(kind, subject, taking_part, failed):
    assert [name for name in failing(kind, subject, taking_part) if name in FOUR] == failed


def test_a_way_out_fails_under_the_name_that_a_measurement_gives_it():
    groups = {"a": ["node1", "node2", "node3"], "b": ["node4", "node5", "node6"]}
    verdict = judge(measured(6, 1, across=(3, 0.4)), groups)
    ((kind, subject),) = named(verdict)

    every = [*groups["a"], *groups["b"]]
    diagnosis = {"nodes": every, "groups": groups}
    assert slowed(verdict["suspects"][0], diagnosis, every) == {*every}, (kind, subject)


def test_a_group_is_left_out_by_name():
    rows = required([{"kind": "group", "subject": "rack1", "what": "slow group"}])
    assert rows["node1"]["todo"].endswith("or leave out: -e exclude=rack1")


@pytest.mark.parametrize("kind, subject", [("node", "node2"), ("network", "node2")])
def test_only_a_suspect_fails(kind, subject):
    rows = required([{"kind": kind, "subject": subject, "what": f"slow {kind}"}])
    assert [rows[name]["verdict"] for name in NODES] == ["pass", "fail"]
    assert rows["node2"]["found"] == f"{KINDS[kind].what}: {subject}"
    assert "-e exclude=d.json" in rows["node2"]["todo"]


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"content": {"problem": "No such file"}}, "d.json: No such file"),
        (
            {"content": {"ended": 14 * DAY, "nodes": [], "suspects": []}},
            "is no diagnosis with a time",
        ),
        ({"content": {"ended": 10**400, "nodes": [], "suspects": []}}, "is no diagnosis with a"),
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
