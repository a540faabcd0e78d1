"""Disturbances are found in the telemetry, and the load of the repeat is not one."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.telemetry.disturbances import (
    LIMITS,
    find,
)
from hypothesis import given
from hypothesis import strategies as some
from telemetry_data import gpu, node, telemetry


def kinds(nodes, limits=LIMITS):
    return [found["kind"] for found in find(nodes, limits)]


def link(**figures):
    return {"received_mib": 1.0, "sent_mib": 1.0, "errors": 0, **figures}


def test_a_repeat_that_had_the_nodes_to_itself_is_clean():
    assert find({"a": node("one"), "b": node("two")}) == []


def test_another_process_is_found_with_node_and_share():
    found = find({"a": node("one"), "b": node("two", own=40.0, busy=52.0)})
    assert found == [
        {
            "kind": "other_process",
            "node": "b",
            "detail": "processes outside the repeat took 12.0 CPU seconds,"
            " 20.0% of the machine's CPU time",
        }
    ]


def test_nodes_that_share_a_kernel_add_up_their_own_time():
    apart = {"a": node("one", own=25.0, busy=51.0), "b": node("two", own=25.0, busy=51.0)}
    assert kinds(apart) == ["other_process", "other_process"]
    shared = {name: {**data, "boot_id": "one"} for name, data in apart.items()}
    assert find(shared) == []


def test_a_shared_machine_is_reported_once_with_all_its_nodes():
    found = find({"a": node(own=10.0), "b": node(own=10.0), "c": node(own=10.0)})
    assert [(one["kind"], one["node"]) for one in found] == [("other_process", "a")]
    assert found[0]["detail"].endswith("(one machine with b, c)")


def test_the_node_that_ran_longest_saw_the_whole_repeat_of_its_machine():
    short, whole = node(own=1.0, busy=1.0, seconds=2.0), node(own=10.0, busy=51.0)
    for order in ({"a": short, "b": whole}, {"a": whole, "b": short}):
        (found,) = find(order)
        assert found["detail"].startswith("processes outside the repeat took 40.0 CPU seconds")


def test_a_node_without_telemetry_makes_the_machine_unjudged_for_other_processes():
    silent = {"telemetry": None, "boot_id": "one"}
    assert find({"a": node("one", own=10.0), "b": silent}) == []
    assert kinds({"a": node("one", own=10.0), "b": {**silent, "boot_id": "two"}}) == [
        "other_process"
    ]
    assert find({"b": silent}) == []


def test_a_few_cpu_seconds_are_the_system_and_not_another_process():
    assert find({"a": node(own=1.0, busy=3.5, seconds=2.0)}) == []


@given(
    own=some.lists(some.floats(0, 100), min_size=1, max_size=4),
    others=some.floats(0, 50),
    seconds=some.floats(1, 1000),
)
def test_other_processes_are_found_exactly_above_both_limits(own, others, seconds):
    nodes = {
        f"node{n}": node(own=mine, busy=sum(own) + others, seconds=seconds)
        for n, mine in enumerate(own)
    }
    busy = nodes["node0"]["telemetry"]["cpu"]["busy_seconds"]
    exact = busy - sum(own)
    above = exact > 5.0 and exact / (2 * seconds) > 0.05
    assert ("other_process" in kinds(nodes)) == above


SPOILED = {
    "steal": {"cpu": {**telemetry()["cpu"], "steal_seconds": 1.3}},
    "throttled": {"gpus": [gpu(0, throttle={"hw_thermal_slowdown": 0.2})]},
    "ecc": {"gpus": [gpu(0, ecc_uncorrected=1)]},
    "xid": {"gpus": [gpu(0, xid=[79])]},
    "link_errors": {"infiniband": {"mlx5_0/1": link(link_downed=1)}},
    "memory_pressure": {"memory_stall_seconds": 0.4},
}


@pytest.mark.parametrize("kind", SPOILED)
def test_one_thing_wrong_is_one_disturbance(kind):
    assert kinds({"a": node(**SPOILED[kind])}) == [kind]


@pytest.mark.parametrize(
    "kind, figures, detail",
    [
        (
            "throttled",
            {"gpus": [gpu(5, throttle={"hw_power_brake_slowdown": 0.5})]},
            "GPU 5: hw_power_brake_slowdown in 50% of the samples",
        ),
        (
            "throttled",
            {"cpu_throttle_events": 3},
            "CPU cores were thermally throttled 3 times",
        ),
        ("ecc", {"gpus": [gpu(1, ecc_uncorrected=2)]}, "GPU 1: 2 uncorrected memory errors"),
        ("xid", {"gpus": [gpu(0, xid=[63, 79])]}, "GPU 0: Xid 63, 79"),
        ("link_errors", {"network": {"eth1": link(errors=9)}}, "eth1: 9 errors, 0 times down"),
        ("memory_pressure", {"swapped_in_mib": 20.4}, "20 MiB were read back from swap"),
    ],
)
def test_the_detail_says_what_and_how_much(kind, figures, detail):
    found = find({"a": node(**figures)})
    assert found == [{"kind": kind, "node": "a", "detail": detail}]


# Figures of a node of 2 cores and 30 s that lie at each limit, and the next ones above it.
AT_LIMITS = [
    ("steal", "cpu", [{**telemetry()["cpu"], "steal_seconds": figure} for figure in (1.2, 1.21)]),
    ("throttled", "gpus", [[gpu(0, throttle={"hw_thermal_slowdown": x})] for x in (0.05, 0.06)]),
    ("throttled", "cpu_throttle_events", [0, 1]),
    ("ecc", "gpus", [[gpu(0, ecc_uncorrected=figure)] for figure in (0, 1)]),
    ("link_errors", "network", [{"eth0": link(errors=figure)} for figure in (0, 1)]),
    ("link_errors", "infiniband", [{"m/1": link(link_downed=figure)} for figure in (0, 1)]),
    ("memory_pressure", "memory_stall_seconds", [0.3, 0.31]),
    ("memory_pressure", "swapped_in_mib", [16.0, 16.1]),
]


@pytest.mark.parametrize("kind, figure, values", AT_LIMITS)
def test_a_figure_at_its_limit_is_none_and_above_it_one(kind, figure, values):
    at, above = ({"a": node(**{figure: value})} for value in values)
    assert (kinds(at), kinds(above)) == ([], [kind])


def test_a_counter_that_a_link_does_not_have_is_no_error():
    assert find({"a": node(network={"eth0": {}}, infiniband={"mlx5_0/1": {"errors": 0}})}) == []


def test_the_power_cap_of_a_busy_gpu_is_not_a_disturbance():
    capped = gpu(0, throttle={"sw_power_cap": 1.0, "hw_slowdown": 0.07})
    assert find({"a": node(gpus=[capped])}) == []


def test_load_before_is_judged_only_where_none_of_it_can_be_ours():
    loaded = node(load={"before": 1.4})
    assert find({"a": loaded}) == []
    assert find({"a": {**loaded, "idle_seconds": 30.0}}) == []
    assert find({"a": {**loaded, "idle_seconds": 600.0}}) == [
        {
            "kind": "load_before",
            "node": "a",
            "detail": "the load was 1.4 on 2 cores before the repeat began",
        }
    ]


def test_a_limit_can_be_set_and_its_name_is_checked():
    assert find({"a": node(own=40.0, busy=52.0)}, {"other_process_share": 0.3}) == []
    with pytest.raises(ValueError, match="no limit named load: use one of other_process_share"):
        find({"a": node()}, {"load": 1})


def test_figures_absent_from_the_telemetry_are_not_judged():
    bare = {"seconds": 10.0, "cpu": {"own_seconds": 1.0}}
    assert find({"a": {"telemetry": bare, "boot_id": "one", "idle_seconds": 1000.0}}) == []


def test_a_repeat_that_was_stopped_for_a_while_is_disturbed():
    assert find({"a": node(longest_pause_seconds=2.0)}) == []
    (found,) = find({"a": node(longest_pause_seconds=42.3)})
    assert (found["kind"], found["node"]) == ("paused", "a")
    assert found["detail"].startswith("nothing of the repeat ran for 42 s: the scheduler suspended")
