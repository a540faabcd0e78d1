"""Names of many nodes in one line, and that no node is lost or made up."""

import re

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.records.node_names import (
    fold,
    folded,
    without_own,
)
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text("abn-_.0129", min_size=1, max_size=7)
CLUSTERS = st.builds(
    lambda form, width, numbers: {form.format(f"{n:0{width}}") for n in numbers},
    st.sampled_from(["node{}", "rack1-node{}-ib", "node{}-ib0", "node{}.lan2", "10.0.0.{}", "{}"]),
    st.integers(1, 4),
    st.sets(st.integers(0, 130), max_size=40),
)


def unfolded(items):
    """Return the names that were folded; the inverse, by the notation alone."""
    names = []
    for item in items:
        match = re.fullmatch(r"(.*)\[([0-9,-]+)\](.*)", item)
        for span in match[2].split(",") if match else ():
            first, _, last = span.partition("-")
            for number in range(int(first), int(last or first) + 1):
                names.append(f"{match[1]}{number:0{len(first)}}{match[3]}")
        if not match:
            names.append(item)
    return names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["node1"], "node1"),
        (["node2", "node1"], "node[1-2]"),
        (["node1", "node3"], "node[1,3]"),
        ([f"node{n}" for n in (10, 1, 2, 3, 9, 4)], "node[1-4,9-10]"),
        ([f"gpu{n:03}" for n in range(1, 65)], "gpu[001-064]"),
        ([f"gpu{n:02}" for n in range(8, 102)], "gpu[08-99], gpu[100-101]"),
        (["n01", "n1", "n10", "n2"], "n[01,10], n[1-2]"),
        (["n2", "login", "n1", "head"], "head, login, n[1-2]"),
        (["r1n1", "r1n2", "r2n1", "r10n1"], "r1n2, r[1-2,10]n1"),
        (["r1n1", "r1n2", "r2n1", "r2n2"], "r1n[1-2], r2n[1-2]"),
        (["gpu1-hgx8", "gpu2-hgx8", "gpu12-hgx8"], "gpu[1-2,12]-hgx8"),
        ([f"nid{n:04}-n0" for n in range(1, 1025)], "nid[0001-1024]-n0"),
        (["compute-1-gpu8.lan", "compute-2-gpu8.lan"], "compute-[1-2]-gpu8.lan"),
        (["n1.lan2", "n2.lan2"], "n[1-2].lan2"),
        (["127.0.0.10", "127.0.0.9"], "127.0.0.[9-10]"),
        (["n1", "n1"], "n1"),
        (["a[1]", "a[2]", "a,1", "²", "³"], "a,1, a[1], a[2], ², ³"),
    ],
)
def test_names_are_folded_by_their_number(names, text):
    assert folded(names) == text


@given(st.one_of(st.lists(NAMES, max_size=12), CLUSTERS))
def test_folding_keeps_exactly_the_names(names):
    assert sorted(unfolded(fold(names))) == sorted(set(names))


@given(CLUSTERS)
def test_one_number_range_is_one_item_for_each_number_of_digits(names):
    assert len(fold(names)) <= 4
    assert fold(names) == fold(sorted(names, reverse=True))


def test_a_planted_name_is_folded_in_no_time():
    name = "1a" * 60_000
    assert folded([name, f"{name}2"]) == f"{name}, {name}2"


def test_a_large_cluster_is_a_few_characters():
    assert folded(f"node{n}" for n in range(1, 10_001)) == "node[1-10000]"


@pytest.mark.parametrize(
    ("text", "own", "rest"),
    [
        ("n1 cannot reach n12, n1.lan or xn1: n1.", ["n1"], " cannot reach n12, n1.lan or xn1: ."),
        ("no gpu driver", ["gpu"], "no gpu driver"),
        ("exit code 4", ["4"], "exit code 4"),
        ("10.0.0.1, not 10.0.0.11", ["10.0.0.1"], ", not 10.0.0.11"),
        ("::1, not fe80::1", ["::1"], ", not fe80::1"),
        ("any words", [], "any words"),
    ],
)
def test_a_nodes_own_name_is_left_out_where_it_is_one(text, own, rest):
    assert without_own(text, own) == rest


@pytest.mark.parametrize(
    "words",
    [
        "ssh: connect to host {} port 22: Connection refused",
        "root@{}: Permission denied (publickey).",
        "Connection closed by {} port 22",
    ],
)
def test_the_address_that_ansible_cannot_reach_is_a_nodes_own(words):
    before = "Failed to connect to the host via ssh: "
    for address in ("10.0.0.7", "fe80::7", "gpu7.lan"):
        assert without_own(before + words.format(address), []) == before + words.format("")
        # The address of another node.
        assert without_own(words.format(address), []) == words.format(address)


def test_numbers_of_any_length_are_sorted_as_numbers():
    long = ["n" + "1" * 5000, "n" + "0" * 9 + "2" + "1" * 4999, "n9", "na"]
    assert fold(long) == ["n9", long[0], long[1], "na"]
