"""What changed between two campaigns, by what they recorded."""

import copy

from ansible_collections.scalebench.core.plugins.module_utils.comparison.provenance_changes import (
    provenance_changes,
)
from comparison_data import NODE

CODE = {"commit": "a1", "dirty": False}


def side(count=4, **changes):
    """Return a provenance with so many equal nodes."""
    nodes = {f"node{number}": copy.deepcopy(NODE) for number in range(1, count + 1)}
    return {"nodes": nodes, "controller": dict(CODE), "options": {"repeats": 3}, **changes}


def told(ours, baseline):
    return [
        (one["what"], one["nodes"], one["baseline"], one["now"])
        for one in provenance_changes(ours, baseline)["changed"]
    ]


def test_nothing_changed():
    ours = side()
    ours["nodes"]["node1"].update(load=7.0, boot_id="another")
    ours["nodes"]["node1"]["boot_id"] = "x"
    before = side()
    before["nodes"]["node1"]["boot_id"] = "y"
    assert provenance_changes(ours, before) == {"changed": [], "not_recorded": []}


def test_equal_changes_of_nodes_are_one():
    ours = side()
    for node in ours["nodes"].values():
        node["kernel"] = "6.1.5"
        node["frameworks"]["pytorch"]["packages"]["torch"] = "2.14.0"
    ours["nodes"]["node2"]["cpu_governor"] = None
    every = ["node1", "node2", "node3", "node4"]
    assert sorted(told(ours, side())) == [
        ("cpu governor", ["node2"], "performance", "none"),
        ("kernel", every, "6.1.0", "6.1.5"),
        ("pytorch torch", every, "2.13.0", "2.14.0"),
    ]


def test_devices_of_a_node_are_told_together():
    ours = side(1)
    for gpu in ours["nodes"]["node1"]["gpus"]:
        gpu["driver"] = "535.54"
    assert told(ours, side(1)) == [("gpus driver", ["node1"], "440.33", "535.54")]
    ours["nodes"]["node1"]["gpus"][1]["driver"] = "440.33"
    assert told(ours, side(1))[0][3] == "535.54, 440.33"
    ours["nodes"]["node1"]["gpus"].pop()
    assert ("gpus number", ["node1"], "2", "1") in told(ours, side(1))


def test_a_list_of_words_and_devices_is_one_fact():
    ours, before = side(1), side(1)
    ours["nodes"]["node1"]["cards"], before["nodes"]["node1"]["cards"] = (
        ["eth0", {"a": 1}],
        ["eth0"],
    )
    assert told(ours, before) == [("cards", ["node1"], "eth0", "eth0, {'a': 1}")]


def test_a_package_or_node_that_is_gone():
    ours = side(1)
    del ours["nodes"]["node1"]["frameworks"]["pytorch"]["packages"]["torch"]
    assert told(ours, side(1)) == [("pytorch torch", ["node1"], "2.13.0", "not there")]
    assert told(side(3), side(1)) == [("node", ["node2", "node3"], "not there", "there")]
    assert told(side(1), side(2)) == [("node", ["node2"], "there", "not there")]


def test_code_options_and_rules():
    ours = side(
        controller={"commit": "b2", "dirty": True},
        options={"repeats": 5, "precision": ["fp32", "amp"], "log_dir": "/elsewhere"},
        strategies=[{"name": "median", "changed": {"warmup": 1}}],
    )
    assert told(ours, side(strategies=[{"name": "median", "changed": {}}])) == [
        ("controller commit", [], "a1", "b2"),
        ("controller dirty", [], "no", "yes"),
        ("option precision", [], "none", "fp32, amp"),
        ("option repeats", [], "3", "5"),
        ("rule from log to throughput", [], "median", "median (warmup 1)"),
    ]


def test_what_an_old_campaign_did_not_record_is_no_change():
    old = side()
    for node in old["nodes"].values():
        del node["cpu_governor"], node["frameworks"]
    del old["controller"]
    assert provenance_changes(side(), old) == {
        "changed": [],
        "not_recorded": [
            {"what": "code", "side": "baseline"},
            {"what": "cpu governor", "side": "baseline"},
            {"what": "frameworks", "side": "baseline"},
        ],
    }


def test_logs_without_any_record():
    unknown = provenance_changes({}, {})["not_recorded"]
    assert [(one["what"], one["side"]) for one in unknown] == [
        ("nodes", "baseline"),
        ("nodes", "now"),
        ("code", "baseline"),
        ("code", "now"),
    ]


def test_a_variant_that_changes_something_else_is_named():
    before = side(variants={"pytorch": {"a": {}, "b": {"environment": {"X": "1"}}}})
    ours = side(variants={"pytorch": {"a": {}, "b": {"environment": {"X": "2"}}}})
    assert told(ours, before) == [
        ("variant pytorch b", [], "environment {'X': '1'}", "environment {'X': '2'}")
    ]
