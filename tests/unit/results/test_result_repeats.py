"""One repeat as results.json has it, from records of both schemas."""

from __future__ import annotations

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.results.repeats import repeat_of
from report_data import cell, disturbed, recorded, run

ONE = cell("1n1g", node_names=["node1"])


def test_a_record_of_the_first_schema_has_nothing_of_the_second():
    found = repeat_of(run(ONE, 1, 10.0))
    assert (found["throughput"], found["attempt"], found["earlier"]) == (10.0, 1, [])
    assert (found["disturbances"], found["packed_with"], found["warnings"]) == ([], [], [])
    assert (found["shares_machine"], found["telemetry"]) == (False, None)


def test_a_record_of_the_second_schema_says_where_and_beside_what_it_ran():
    here = {**ONE, "node_names": ["node3"]}
    found = repeat_of(
        recorded(
            here, 1, 10.0, packed_with=["b.log"], shares_machine=True, disturbances=disturbed()
        )
    )
    assert found["node_names"] == ["node3"]
    assert found["packed_with"] == ["b.log"]
    assert found["shares_machine"] is True
    assert found["disturbances"] == disturbed()


def test_what_was_odd_on_a_node_is_a_warning():
    nodes = {
        "node1": {"ending": "ok", "strays": 2, "ended": 0, "telemetry": None},
        "node2": {"ending": "ok", "strays": 0, "ended": 3, "telemetry": None},
        "node3": {"ending": "timeout", "strays": 0, "ended": 4, "telemetry": None},
        "node4": {"ending": "ok", "ended": 1, "reason": "still alive 5 s after SIGKILL: 7 (train)"},
        "node5": {"ending": "timeout", "ended": 1, "reason": "not done after 5 s; still alive"},
    }
    assert repeat_of(recorded(ONE, 1, 10.0, nodes=nodes))["warnings"] == [
        "node1: 2 processes of an earlier run were ended before",
        "node2: 3 processes outlived the launcher and were ended",
        "node4: still alive 5 s after SIGKILL: 7 (train)",
    ]


def test_gpus_that_could_not_be_sampled_are_named():
    telemetry = {"seconds": 2.0, "cpu": {"own_seconds": 1.0}, "gpu": "not sampled: no NVML"}
    nodes = {"node1": {"ending": "ok", "telemetry": telemetry}}
    (warning,) = repeat_of(recorded(ONE, 1, 10.0, nodes=nodes))["warnings"]
    assert warning == "node1: the GPUs were not sampled: no NVML"


def test_a_repeat_without_a_speed_has_a_reason():
    made = repeat_of({**recorded(cell("1n1g", 1), 1, 10.0), "ending": "x", "reason": ""})
    assert (made["ending"], made["reason"]) == ("x", "no reason given")


@pytest.mark.parametrize("speed", [1e-7, 1e-9, 1e15, 1e308])
def test_a_throughput_next_to_nothing_or_absurd_is_invalid(speed):
    made = repeat_of(recorded(cell("1n1g", 1), 1, speed))
    assert (made["ending"], made["throughput"]) == ("invalid", None)
    assert f"no throughput but {speed}" in made["reason"]
