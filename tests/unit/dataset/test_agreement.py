"""What several nodes have of a data set, side by side."""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.dataset.agreement import agreement


def form(digest="ab" * 32, problems=(), state=""):
    state = state or ("incomplete" if problems else "complete")
    size = 0 if state == "absent" else 3 << 20
    return {
        "state": state,
        "problems": list(problems),
        "files": 2,
        "bytes": size,
        "digest": digest,
    }


def test_nodes_that_agree_have_no_problem():
    found = agreement({"a": {"tfrecord": form()}, "b": {"tfrecord": form()}}, ["tfrecord"])
    assert found["problems"] == []
    assert found["rows"][1] == {
        "node": "b",
        "form": "tfrecord",
        "state": "complete",
        "files": 2,
        "MiB": 3.0,
        "digest": "abababababab",
        "what": "",
    }


def test_complete_sets_that_differ_are_told_apart():
    nodes = {"a": form(), "b": form("cd" * 32), "c": form()}
    found = agreement({name: {"images": one} for name, one in nodes.items()}, [])
    assert found["problems"] == ["images: the files of a, c and b differ"]


def test_a_problem_names_node_and_form():
    found = agreement({"a": {"images": form(problems=["it burnt"])}}, [])
    assert found["problems"] == ["a: images: it burnt"]


def test_only_what_is_wanted_must_be_there():
    absent = {"a": {"recordio": form("", state="absent")}}
    assert agreement(absent, [])["problems"] == []
    assert agreement(absent, ["recordio"])["problems"] == ["a: recordio: there is no such folder"]
