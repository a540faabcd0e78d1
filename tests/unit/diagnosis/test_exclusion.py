"""Who is left out for a diagnosis, and the pattern of those who stay."""

import json

import pytest
from ansible.errors import AnsibleLookupError
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.exclusion import (
    to_exclude,
    without,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import judge
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import (
    read_diagnosis,
)
from diagnosis_data import measured

from lookup_plugins.diagnosis_content import LookupModule as DiagnosisContent
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
    assert pattern("node3, rack2") == pattern(["node3", "rack2"]) == "nodes,!node3,!rack2"
    assert pattern("node[12]") == pattern("node[12],node1") == "nodes,!node1,!node2"
    assert pattern(f"node1,{file}") == "nodes,!node1,!node3"


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
            "suspects a group, its way out or .* such as -e exclude=node3,rack1$",
        ),
        ('{"suspects": {}}', "no diagnosis.json .*: it.suspects is {}, not a list"),
        (
            '{"suspects": [{"kind": "x", "subject": "a"}]}',
            "a suspect of unknown kind 'x'",
        ),
        ('{"suspects": [{"kind": "node", "subject": " "}]}', "a suspect without a name"),
        ('{"suspects": [{"kind": "link", "subject": "a - b - c"}]}', "a slow link with 3 ends"),
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
    assert LookupModule().run(["all"], {"groups": groups}) == ["nodes,!all"]


def test_a_misspelt_name_is_refused():
    with pytest.raises(
        AnsibleLookupError, match="-e exclude: the inventory has no host or group n"
    ):
        pattern("node33")


RACKS = {f"rack{one}": [f"node{2 * one + 1}", f"node{2 * one + 2}"] for one in range(3)}
ALL = [node for nodes in RACKS.values() for node in nodes]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([("node", "node1")], "d.json"),
        ([("group", "rack1")], "node3,node4"),
        ([("uplink", "rack0 and rack1"), ("node", "node6")], "node6,node1,node2"),
        ([("fabric", "rack0 and rack1 and rack2")], "node3,node4,node5,node6"),
        # The one that stays is none that goes anyhow.
        (
            [("fabric", "rack0 and rack1 and rack2"), ("uplink", "rack0")],
            "node1,node2,node5,node6",
        ),
        ([("group", "rack0"), ("group", "rack1"), ("group", "rack2")], ""),
        ([("group", "elsewhere")], "elsewhere"),
    ],
)
def test_what_leaves_out_suspects_of_groups_is_named_by_its_nodes(found, words):
    diagnosis = {"suspects": suspects(*found), "groups": RACKS, "nodes": ALL}
    assert without(diagnosis, "d.json") == words


def test_a_diagnosis_of_its_own_is_read(tmp_path):
    file = tmp_path / "diagnosis.json"
    verdict = judge(measured(8, 1, network={0: 0.3}), {})
    assert 0 < verdict["suspects"][0]["deficits"][0]["p"] < 1e-60
    file.write_text(json.dumps({**verdict, "nodes": [f"node{n}" for n in range(1, 9)]}))
    (read,) = DiagnosisContent().run([str(file)])
    assert [suspect["subject"] for suspect in read["suspects"]] == ["node1"]
    assert read == read_diagnosis(file)
    (lost,) = DiagnosisContent().run([f"{tmp_path}/lost.json"])
    assert lost == {"problem": "No such file or directory"}
