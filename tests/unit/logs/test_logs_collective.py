"""Logs of workloads/collectives: what is read of them, and what is left out."""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from ansible_collections.scalebench.core.plugins.module_utils.running.invariants import broken

from collectives.definitions import operation_line

CELL = {
    "batch_size_per_device": 1,
    "nodes": 2,
    "devices_per_node": 1,
    "warmup": 2,
    "iterations": 10,
    "unit": "MB/s",
}


def test_a_bus_bandwidth_is_not_held_against_the_clock():
    """A batch of 1 in 1 s is 2 samples/s of two ranks, whatever the MB/s of its message are."""
    log = "\n".join(
        operation_line("all_reduce", number, 1 << 20, 2, 0.002, 1795397394.0 + number)
        for number in range(1, 13)
    )
    expect = {"batch_size_per_device": 1, "world_size": 2}
    facts = facts_of_text(log, "harmonic_mean", {"warmup": 2, "iterations": 10}, expect=expect)
    assert (facts["reader"], facts["throughput"], facts["steps"]) == ("collective", 524.29, 10)
    assert facts["wall_clock_throughput"] is None
    assert broken(CELL, facts) == []
