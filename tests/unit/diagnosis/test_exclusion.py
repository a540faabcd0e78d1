"""Who is left out for a diagnosis, and the pattern of those who stay."""

import json

import pytest
from ansible.errors import AnsibleLookupError
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.exclusion import to_exclude
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import judge
from diagnosis_data import measured

from lookup_plugins.nodes_without import LookupModule

GROUPS = {
    "all": ["node1", "node2", "node3", "login"],
    "nodes": ["node1", "node2", "node3"],
    "rack2": ["node2", "node3"],
}


def pattern(*terms):
    (found,) = LookupModule().run(list(terms), {"groups": GROUPS})
    return found


def suspects(*pairs):
    return [{"kind": kind, "subject": subject} for kind, subject in pairs]


@pytest.mark.parametrize(
    ("found", "left_out"),
    [
        ([], []),
        ([("node", "node3"), ("network", "node3"), ("network", "node1")], ["node3", "node1"]),
        ([("device", "node2 5")], ["node2"]),
        ([("link", "node1 - node2")], ["node2"]),
        ([("link", "node1 - node2"), ("node", "node1")], ["node1"]),
        ([("link", "node1 - node2"), ("link", "node1 - node4")], ["node1"]),
        ([("link", "node1 - node2"), ("link", "node3 - node4")], ["node4", "node2"]),
        ([("uplink", "rack2"), ("group", "rack2")], []),
    ],
)
def test_as_few_as_possible_are_left_out(found, left_out):
    assert to_exclude(suspects(*found)) == left_out


def test_the_suspects_of_a_measurement_are_left_out():
    verdict = judge(measured(8, 1, node={2: 0.3}, link={(0, 5): 0.5}), {})
    assert set(to_exclude(verdict["suspects"])) == {"node3", "node6"}


def test_a_kind_that_is_not_known_is_never_passed_over(tmp_path):
    (tmp_path / "d.json").write_text(json.dumps({"suspects": suspects(("disk", "node3"))}))
    with pytest.raises(AnsibleLookupError, match=r"no diagnosis.json .*'disk'"):
        pattern(str(tmp_path / "d.json"))


def test_the_pattern_leaves_out_what_was_named_in_each_form(tmp_path):
    file = tmp_path / "diagnosis.json"
    file.write_text(json.dumps({"suspects": suspects(("node", "node3"))}))
    assert pattern("") == pattern([]) == "nodes"
    assert pattern("node3, rack2") == pattern(["node3", "rack2"]) == "nodes:!node3:!rack2"
    assert pattern("node[12]") == pattern("node[12],node1") == "nodes:!node1:!node2"
    assert pattern(f"node1,{file}") == "nodes:!node1:!node3"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no diagnosis.json"),
        ("{", "no diagnosis.json"),
        ("[]", "no diagnosis.json"),
        ('{"suspects": [{"kind": "node"}]}', "no diagnosis.json"),
        ('{"suspects": [{"kind": "node", "subject": " "}]}', "no diagnosis.json"),
        (
            '{"suspects": [{"kind": "uplink", "subject": "rack1 and rack2"},'
            ' {"kind": "link", "subject": "node1 - node3"},'
            ' {"kind": "group", "subject": "rack1"}]}',
            "suspects all nodes of a group or its .* such as -e exclude=node3,rack1$",
        ),
        ('{"suspects": {}}', "no diagnosis.json .*: it.suspects is {}, not a list"),
        (
            '{"suspects": [{"kind": "x", "subject": "a"}]}',
            "suspect of kind 'x', or without",
        ),
        ('{"suspects": [{"kind": "node", "subject": " "}]}', "or without a name"),
        (json.dumps({"suspects": [{"kind": "node", "subject": "a"}] * 1001}), "more than 1000 sus"),
        (
            '{"suspects": [{"kind": "node", "subject": "\\u001b[2Jnode9"}]}',
            "no host or group node9",
        ),
        ('{"suspects": [{"kind": "node", "subject": "node9"}]}', "no host or group node9"),
        ('{"suspects": [{"kind": "node", "subject": "node[1,login,]"}]}', "no host or group node"),
        ('{"suspects": [{"kind": "node", "subject": "node[1]"}]}', "no host or group node"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path, content, message):
    file = tmp_path / "diagnosis.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(AnsibleLookupError, match=message):
        pattern(str(file))


@pytest.mark.parametrize("words", ["nodes", "all", "node1,rack2", "node*", "node1,node2,node3"])
def test_leaving_out_all_nodes_is_refused(words):
    with pytest.raises(AnsibleLookupError, match="leaves out all nodes"):
        pattern(words)


def test_nodes_that_the_carrier_adds_later_are_not_missed():
    groups = {"all": [], "nodes": []}
    assert LookupModule().run(["all"], {"groups": groups}) == ["nodes:!all"]


def test_a_misspelt_name_is_refused():
    with pytest.raises(
        AnsibleLookupError, match="-e exclude: the inventory has no host or group n"
    ):
        pattern("node33")
