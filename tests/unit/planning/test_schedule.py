"""Waves: every repeat once, no node twice at a time, as short as can be; their bound and sample."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning.schedule import (
    device_bound,
    lower_bound,
    pack,
    sample_alone,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule_data import NODES, makespan, offering, reference_cells, timed, wave_bound

FOUR = offering(dict.fromkeys(("node1", "node2", "node3", "node4"), 8))


def cell(name: str, nodes: int, seconds: float = 0, **more: Any) -> dict[str, Any]:
    """Return what the schedule reads of a cell; one repeat of 8 devices per node unless told."""
    return {
        "directory": f"pytorch/bz128/{nodes}n8g",
        "name": name,
        "nodes": nodes,
        "devices_per_node": 8,
        "node_names": list(FOUR)[:nodes],
        "batch_size_per_device": 128,
        "precision": "fp32",
        "image_size": 224,
        "data": "synthetic",
        "repeats": 1,
        "estimate_seconds": seconds,
        **more,
    }


def indices(planned: list[dict[str, Any]]) -> list[list[int]]:
    return [[seat["index"] for seat in wave["repeats"]] for wave in planned]


@st.composite
def mixes(
    draw: st.DrawFn, *, powers_of_two: bool = False
) -> tuple[list[Any], dict[str, list[str]]]:
    """Draw repeats and nodes that can seat each of them; some nodes have fewer devices."""
    if powers_of_two:
        offered = [2] * draw(st.sampled_from([1, 2, 4, 8, 16]))
    else:
        offered = draw(st.lists(st.integers(1, 3), min_size=1, max_size=7))
    devices = offering({f"node{number}": count for number, count in enumerate(offered, 1)})
    cells = []
    for number in range(draw(st.integers(0, 15))):
        asked = draw(st.integers(1, max(offered)))
        able = sum(has >= asked for has in offered)
        size = draw(st.integers(1, able))
        if powers_of_two:
            size = 2 ** (size.bit_length() - 1)
        seconds = draw(st.integers(0, 5) | st.floats(0, 1e4))
        repeats = draw(st.integers(1, 4))
        cells.append(cell(f"r50_{number}", size, seconds, devices_per_node=asked, repeats=repeats))
    return timed(cells), devices


@given(mixes())
@settings(max_examples=150)
def test_every_repeat_runs_once_on_nodes_of_its_own_that_can_seat_it(mix):
    repeats, devices = mix
    planned = pack(repeats, devices, "nodes")
    assert sorted(chain.from_iterable(indices(planned))) == list(range(len(repeats)))
    for wave in planned:
        names = [name for seat in wave["repeats"] for name in seat["node_names"]]
        assert len(names) == len(set(names))
        for seat in wave["repeats"]:
            asked = repeats[seat["index"]]["cell"]
            assert len(seat["node_names"]) == asked["nodes"]
            assert all(
                len(devices[name]) >= asked["devices_per_node"] for name in seat["node_names"]
            )
        assert wave["seconds"] == max(repeats[seat["index"]]["seconds"] for seat in wave["repeats"])


@given(mixes())
@settings(max_examples=150)
def test_waves_come_longest_first_and_never_beat_the_bounds(mix):
    repeats, devices = mix
    planned = pack(repeats, devices, "nodes")
    lengths = [wave["seconds"] for wave in planned]
    assert lengths == sorted(lengths, reverse=True)
    rounding = 1e-9 * makespan(planned)
    assert makespan(planned) >= wave_bound(repeats, len(devices)) - rounding
    assert makespan(planned) >= lower_bound(repeats, len(devices)) - rounding
    assert makespan(planned) <= sum(repeat["seconds"] for repeat in repeats) + rounding


@given(mixes())
@settings(max_examples=50)
def test_the_same_repeats_get_the_same_waves(mix):
    assert pack(*mix, "nodes") == pack(*mix, "nodes")


@given(mixes(powers_of_two=True))
@settings(max_examples=150)
def test_no_waves_are_shorter_where_node_counts_are_powers_of_two(mix):
    repeats, devices = mix
    assert makespan(pack(repeats, devices, "nodes")) == pytest.approx(
        wave_bound(repeats, len(devices))
    )


@given(mixes())
@settings(max_examples=50)
def test_without_packing_repeats_run_one_by_one_as_given_on_their_cells_nodes(mix):
    repeats, devices = mix
    planned = pack(repeats, devices, "none")
    assert indices(planned) == [[index] for index in range(len(repeats))]
    assert [wave["seconds"] for wave in planned] == [repeat["seconds"] for repeat in repeats]
    assert [wave["repeats"][0]["node_names"] for wave in planned] == [
        repeat["cell"]["node_names"] for repeat in repeats
    ]


@pytest.mark.parametrize("start_up", [0, 15, 97])
def test_the_reference_matrix_is_within_one_per_cent_of_the_lower_bound(start_up):
    repeats = timed(reference_cells(start_up))
    assert len(repeats) == 72 * 5
    planned = pack(repeats, NODES, "nodes")
    assert makespan(planned) == pytest.approx(wave_bound(repeats, len(NODES)))
    assert makespan(planned) <= 1.01 * lower_bound(repeats, len(NODES))


def test_repeats_of_like_length_share_a_wave():
    lengths = [10, 61, 11, 60, 12, 59, 13, 58]
    cells = [cell(f"r50_{length}", 1, length) for length in lengths]
    assert indices(pack(timed(cells), FOUR, "nodes")) == [[1, 3, 5, 7], [6, 4, 2, 0]]


def test_a_short_repeat_fills_the_first_wave_with_room():
    cells = [cell("a", 2, 50), cell("b", 4, 40), cell("c", 1, 30), cell("d", 2, 20)]
    cells.append(cell("e", 1, 10))
    assert indices(pack(timed(cells), FOUR, "nodes")) == [[0, 2, 4], [1], [3]]


def test_unknown_lengths_are_packed_too():
    cells = [cell(f"r50_{number}", 1) for number in range(6)]
    planned = pack(timed(cells), FOUR, "nodes")
    assert indices(planned) == [[0, 1, 2, 3], [4, 5]]
    assert makespan(planned) == 0


def test_who_needs_many_devices_gets_the_nodes_that_have_them():
    devices = offering({"large": 8, "small": 1})
    cells = [cell("a", 1, 9, devices_per_node=1), cell("b", 1, 8), cell("c", 1, 7)]
    seats = [
        {seat["index"]: seat["node_names"] for seat in wave["repeats"]}
        for wave in pack(timed(cells), devices, "nodes")
    ]
    assert seats == [{0: ["small"], 1: ["large"]}, {2: ["large"]}]


def test_repeats_of_a_cell_go_round_the_nodes():
    cells = [cell("a", 1, 60, repeats=5), cell("b", 1, 60, repeats=3)]
    repeats = timed(cells)
    names: dict[str, list[str]] = {"a": [], "b": []}
    for wave in pack(repeats, FOUR, "nodes"):
        for seat in wave["repeats"]:
            names[repeats[seat["index"]]["cell"]["name"]] += seat["node_names"]
    assert sorted(Counter(names["a"]).values()) == [1, 1, 1, 2]
    assert len(set(names["b"])) == 3


def test_nodes_keep_their_order_so_that_the_first_leads():
    planned = pack(timed([cell("a", 2, 60, repeats=2)]), offering(dict.fromkeys("xyz", 8)), "nodes")
    assert [wave["repeats"][0]["node_names"] for wave in planned] == [["x", "y"], ["x", "z"]]


def test_what_the_nodes_cannot_seat_is_refused_by_name():
    repeats = timed([cell("a", 2, 60)])
    with pytest.raises(ValueError, match=r"pytorch/bz128/2n8g/a_1\.log needs 2 node\(s\) with 8"):
        pack(repeats, offering({"large": 8, "small": 1}), "nodes")


def test_another_packing_is_refused_with_the_choices():
    with pytest.raises(ValueError, match="there is no packing 'gpus'; the choices are none, nodes"):
        pack([], FOUR, "gpus")


@given(mixes())
@settings(max_examples=150)
def test_packed_by_devices_no_device_is_in_two_repeats_and_every_repeat_runs_once(mix):
    repeats, devices = mix
    planned = pack(repeats, devices, "devices")
    assert sorted(chain.from_iterable(indices(planned))) == list(range(len(repeats)))
    for wave in planned:
        taken = [
            (name, place)
            for seat in wave["repeats"]
            for name, places in seat["devices"].items()
            for place in places
        ]
        assert len(taken) == len(set(taken))
        assert all(place < len(devices[name]) for name, place in taken)
        for seat in wave["repeats"]:
            asked = repeats[seat["index"]]["cell"]
            counts = [len(seat["devices"][name]) for name in seat["node_names"]]
            assert counts == [asked["devices_per_node"]] * asked["nodes"]
    rounding = 1e-9 * makespan(planned)
    assert makespan(planned) >= device_bound(repeats, devices) - rounding


@given(mixes())
@settings(max_examples=50)
def test_packed_by_nodes_no_node_has_two_repeats_and_each_has_its_devices(mix):
    repeats, devices = mix
    for wave in pack(repeats, devices, "nodes"):
        for seat in wave["repeats"]:
            asked = repeats[seat["index"]]["cell"]["devices_per_node"]
            assert set(seat["devices"]) == set(seat["node_names"])
            assert all(len(places) == asked for places in seat["devices"].values())


def test_small_repeats_share_a_node_and_fill_it():
    cells = [cell("a", 1, 60, devices_per_node=4), cell("b", 1, 50, devices_per_node=2)]
    cells += [cell("c", 1, 40, devices_per_node=1, repeats=2)]
    (wave,) = pack(timed(cells), offering({"only": 8}), "devices")
    assert {seat["index"]: seat["devices"]["only"] for seat in wave["repeats"]} == {
        0: [0, 1, 2, 3],
        1: [4, 5],
        2: [6],
        3: [7],
    }


def test_small_repeats_run_beside_one_over_all_nodes_that_leaves_room():
    cells = [cell("all", 4, 60, devices_per_node=6), cell("one", 1, 50, devices_per_node=2)]
    cells += [cell("two", 2, 40, devices_per_node=4)]
    assert indices(pack(timed(cells), FOUR, "devices")) == [[0, 1], [2]]


def test_the_reference_matrix_takes_less_by_devices_than_by_nodes():
    repeats = timed(reference_cells(15.0))
    by_devices = makespan(pack(repeats, NODES, "devices"))
    assert by_devices < 0.98 * makespan(pack(repeats, NODES, "nodes"))
    assert by_devices <= 1.05 * device_bound(repeats, NODES)


@pytest.mark.parametrize("packing", ["nodes", "devices"])
def test_nodes_that_are_one_machine_do_not_give_a_gpu_twice(packing):
    same = {name: ["GPU-0", "GPU-1"] for name in ("node1", "node2", "node3")}
    cells = [cell("a", 2, 60, devices_per_node=1, repeats=2)]
    planned = pack(timed(cells), same, packing)
    assert indices(planned) == [[0], [1]]
    places = [place for seat in planned[0]["repeats"] for place in seat["devices"].values()]
    assert sorted(places) == [[0], [1]]


@pytest.mark.parametrize(
    ("pairs", "seconds"),
    [
        ([], 0),
        # 8 node-seconds of 10 s each on 4 nodes.
        ([(1, 10)] * 8, 20),
        # One alone cannot be shared out.
        ([(1, 10)], 10),
        # Three nodes of four, twice: 15 by work, 20 because they exclude each other.
        ([(3, 10), (3, 10)], 20),
        # Two halves do not exclude each other.
        ([(2, 10), (2, 10)], 10),
        ([(3, 10), (3, 10), (1, 25)], 25),
    ],
)
def test_lower_bound_of_four_nodes(pairs, seconds):
    repeats = [{"cell": {"nodes": nodes}, "seconds": each} for nodes, each in pairs]
    assert lower_bound(repeats, 4) == seconds


def waves(*members):
    return [{"repeats": [{"index": index} for index in wave], "seconds": 1} for wave in members]


PACKED = waves([0], *([number, number + 1] for number in range(1, 41, 2)), [41])


def test_a_tenth_of_the_packed_repeats_is_drawn():
    drawn = sample_alone(PACKED, "night")
    assert len(drawn) == 4
    assert drawn == sorted(set(drawn))
    assert set(drawn) <= set(range(1, 41))


def test_the_draw_is_the_same_on_every_machine():
    # Of `printf night:N | sha256sum` those of 5, 4 and 0 are the smallest.
    assert sample_alone(waves([0, 1, 2, 3], [4, 5]), "night", 0.5) == [0, 4, 5]


def test_at_least_one_is_drawn_and_none_where_nothing_was_packed():
    assert len(sample_alone(waves([0, 1]), "night")) == 1
    assert sample_alone(waves([0], [1]), "night") == []
    assert sample_alone([], "night") == []


def test_all_may_be_asked_for():
    assert sample_alone(PACKED, "night", 1) == list(range(1, 41))


def test_seeds_draw_each_repeat_about_equally_often():
    drawn = Counter(index for seed in range(1000) for index in sample_alone(PACKED, f"seed{seed}"))
    # 1000 draws of 4 out of 40: 100 each, standard deviation 9.5; five of them either way.
    assert set(drawn) == set(range(1, 41))
    assert all(52 < times < 148 for times in drawn.values())


@pytest.mark.parametrize("share", [0, -0.1, 1.1])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        sample_alone(PACKED, "night", share)
