"""Tables of nccl-tests in the forms that its versions print, with figures that others published."""

from __future__ import annotations

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from ansible_collections.scalebench.core.plugins.module_utils.logs import read
from ansible_collections.scalebench.core.plugins.module_utils.running.invariants import broken

STRATEGY = ("harmonic_mean", {"warmup": 0, "iterations": 1})


def of_2_18(name, rows, ranks, wrong=0, size=8589934592):
    """Return what 2.18.3 prints: src/util.cu and src/common.cu."""
    devices = [
        f"#  Rank {rank:2} Group  0 Pid  14840 on rack-{rank // 4:03} device {rank % 4:2} "
        "[0008:01:00] NVIDIA Graphics Device"
        for rank in range(ranks)
    ]
    state = "FAILED" if wrong else "OK"
    lines = [
        "# nccl-tests version 2.18.3 nccl-headers=22809 nccl-library=22809",
        f"# Collective test starting: {name}_perf",
        f"# nThread 1 nGpus 1 minBytes {size} maxBytes {size} step: 1048576(bytes) warmup iters: 5"
        " iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0",
        "#",
        "# Using devices",
        *devices,
        "#",
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
        "     time   algbw   busbw  #wrong",
        *rows,
        f"# {'Out of bounds values':<20} : {wrong} {state}",
        f"# {'Avg bus bandwidth':<20} : 834.57 ",
        "#",
        f"# Collective test concluded: {name}_perf",
    ]
    return "\n".join(lines) + "\n"


# A rack of 72 GPUs: coreweave/nccl-tests, pull request 43.
RACK = (
    "  8589934592    2147483648     float     sum      -1    20299  423.16  834.57       0"
    "    20006  429.37  846.82       0"
)


def test_a_line_of_one_size_is_the_bus_bandwidth_and_the_message():
    facts = facts_of_text(of_2_18("all_reduce", [RACK], 72), *STRATEGY)
    by_hand = 8589934592 / 20299 * 2 * 71 / 72
    assert (facts["reader"], facts["unit"]) == ("nccl_tests", "MB/s")
    assert facts["throughput"] == pytest.approx(by_hand, abs=0.01)
    assert facts["throughput"] == pytest.approx(834570, rel=1e-4)
    identity = facts["identity"]
    assert (identity["collective"], identity["message_bytes"]) == ("all_reduce", 8589934592)
    assert (identity["world_size"], identity["nodes"], identity["nccl"]) == (72, 18, 22809)
    assert (identity["warmup"], identity["iterations"]) == (5, 20)
    assert identity["device_name"] == "NVIDIA Graphics Device"
    assert facts["ending"]["kind"] == "complete"
    message = facts["message"]
    assert (message["collective"], message["bytes"]) == ("all_reduce", 8589934592)
    assert message["busbw_factor"] == pytest.approx(2 * 71 / 72)
    assert message["seconds"] == pytest.approx(0.020299)


def test_the_bandwidth_of_a_small_message_is_not_the_two_decimals():
    # Two A40 in two nodes: issue 214 of NVIDIA/nccl-tests.
    row = (
        "        1024           256     float     sum      -1    34.24    0.03    0.03       0"
        "    31.11    0.03    0.03     N/A"
    )
    facts = facts_of_text(of_2_18("sendrecv", [row], 2, size=1024), *STRATEGY)
    assert facts["throughput"] == pytest.approx(29.91)
    assert facts["message"]["busbw_factor"] == 1


def test_wrong_values_make_the_log_an_error():
    wrong = RACK.replace("834.57       0", "834.57       3", 1)
    log = of_2_18("all_reduce", [wrong], 72, wrong=1)
    facts = facts_of_text(log, *STRATEGY)
    assert facts["ending"] == {"kind": "traceback", "detail": "wrong values, 1 times"}


def test_a_log_that_was_cut_off_is_truncated():
    log = of_2_18("all_reduce", [RACK], 72).partition("# Out of")[0]
    assert facts_of_text(log, *STRATEGY)["ending"]["kind"] == "truncated"


def test_a_sweep_over_sizes_has_a_figure_for_each_and_no_message():
    rows = [
        RACK,
        "  4294967296    1073741824     float     sum      -1    10094  425.49  839.16       0"
        "    10141  423.54  835.32       0",
    ]
    reading = read(of_2_18("all_reduce", rows, 72))
    rates = [one["throughput"] for one in reading["observations"]]
    assert rates == pytest.approx([834570, 839160], rel=1e-4)
    assert "message" not in reading["summary"]


@pytest.mark.parametrize(
    "operation",
    [
        # 2.0 to 2.10 print neither the operation's name nor a root beside a reduction, of broadcast
        # the root alone, of sendrecv nothing: issues 82, 104 and 107 of NVIDIA/nccl-tests.
        "  1310720000     327680000   float     sum",
        "  1310720000     327680000   float       0",
        "  1310720000    1310720000   uint8",
    ],
)
def test_older_versions_have_fewer_columns_and_do_not_name_the_operation(operation):
    log = (
        "# nThread 1 nGpus 1 minBytes 1310720000 maxBytes 1310720000 step: 1048576(bytes)"
        " warmup iters: 5 iters: 20 validation: 1 \n#\n# Using devices\n"
        "#   Rank  0 Pid   2066 on ip-172-31-22-230 device  0 [0x00] Tesla V100-SXM2-16GB\n"
        "#   Rank  1 Pid   1320 on ip-172-31-20-228 device  0 [0x00] Tesla V100-SXM2-16GB\n#\n"
        f"{operation}  1101445    1.19    1.19  0e+00  1101429    1.19    1.19  3e+02\n"
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.19 \n#\n"
    )
    facts = facts_of_text(log, *STRATEGY)
    assert facts["throughput"] == 1190
    assert (facts["identity"]["world_size"], facts["identity"]["nodes"]) == (2, 2)
    assert "message" not in facts


def test_a_log_is_held_to_its_cell():
    cell = {
        "batch_size_per_device": 1,
        "nodes": 18,
        "devices_per_node": 4,
        "warmup": 5,
        "iterations": 20,
        "unit": "MB/s",
    }
    log = of_2_18("all_reduce", [RACK], 72)
    expect = {
        "precision": "fp32",
        "batch_size_per_device": 1,
        "world_size": 72,
        "collective": "all_reduce",
        "message_bytes": 8589934592,
    }
    facts = facts_of_text(log, *STRATEGY, expect=expect)
    assert facts["valid"], facts["reason"]
    assert broken(cell, facts) == []
    for other in ({"world_size": 36}, {"collective": "broadcast"}, {"message_bytes": 1024}):
        assert not facts_of_text(log, *STRATEGY, expect={**expect, **other})["valid"]
