"""Tables of nccl-tests in the forms that its versions print, with figures that others published."""

from __future__ import annotations

import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from ansible_collections.scalebench.core.plugins.module_utils.logs import read
from ansible_collections.scalebench.core.plugins.module_utils.logs.nccl_tests import as_table
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
@pytest.mark.parametrize("time", ["1101445", "14456", "9999.1"])
def test_older_versions_have_fewer_columns_and_do_not_name_the_operation(operation, time):
    log = (
        "# nThread 1 nGpus 1 minBytes 1310720000 maxBytes 1310720000 step: 1048576(bytes)"
        " warmup iters: 5 iters: 20 validation: 1 \n#\n# Using devices\n"
        "#   Rank  0 Pid   2066 on ip-172-31-22-230 device  0 [0x00] Tesla V100-SXM2-16GB\n"
        "#   Rank  1 Pid   1320 on ip-172-31-20-228 device  0 [0x00] Tesla V100-SXM2-16GB\n#\n"
        f"{operation}  {time}    1.19    1.19  0e+00  {time}    1.19    1.19  3e+02\n"
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.19 \n#\n"
    )
    facts = facts_of_text(log, *STRATEGY)
    assert facts["throughput"] == 1190
    assert (facts["identity"]["world_size"], facts["identity"]["nodes"]) == (2, 2)
    assert "message" not in facts


def document(results, ranks=72, wrong=0, size=8589934592, **changes):
    """Return the JSON that 2.18.3 writes: keys, order and forms of src/util.cu, in one line."""
    devices = [
        {
            **{"rank": rank, "group": 0, "pid": 14840, "hostname": f"rack-{rank // 4:03}"},
            **{"device": rank % 4, "device_hex": "0008:01:00"},
            "device_info": "NVIDIA Graphics Device",
        }
        for rank in range(ranks)
    ]
    config = {
        **{"nthreads": 1, "ngpus": 1, "minimum_bytes": size, "maximum_bytes": size},
        **{"step_bytes": 1048576, "warmup_iters": 5, "iterations": 20, "aggregated_iterations": 1},
        **{"validation": 1, "graph": 0, "blocking_collectives": "false", "parallel_init": "false"},
        "devices": devices,
    }
    written = {
        **{"version": 1, "start_time": "2026-10-17 12:01:25"},
        "args": ["/opt/nccl-tests/current/build/all_reduce_perf", "--output_file=a.json"],
        "env": ["TOKEN=not to be shown", "A=# Out of bounds values : 7 FAILED"],
        **{"nccl_version": 22809, "config": config, "results": results},
        "out_of_bounds": {"count": wrong, "okay": "false" if wrong else "true"},
        "average_bus_bandwidth": {"bandwidth": 840.695, "okay": "unchecked"},
        **{"errors": [], "end_time": "2026-10-17 12:02:25"},
    }
    return json.dumps({**written, **changes}, separators=(",", ":"))


def result(time=20299.1234, **changes):
    figures = {"time": time, "alg_bw": 423.16, "bus_bw": 834.57, "nwrong": 0.0}
    return {
        **{"size": 8589934592, "count": 2147483648, "type": "float", "redop": "sum"},
        **{"root": "    -1", "out_of_place": figures, "in_place": {**figures, "time": 1.0}},
        **{"actual_iterations": 20, "experiment_name": "all_reduce", **changes},
    }


def test_json_gives_what_the_table_gives_with_all_digits():
    table = facts_of_text(of_2_18("all_reduce", [RACK], 72), *STRATEGY)
    facts = facts_of_text(document([result()]), *STRATEGY)
    assert facts["throughput"] == pytest.approx(8589934592 / 20299.1234 * 2 * 71 / 72, abs=0.01)
    assert facts["message"]["seconds"] == pytest.approx(0.0202991234, rel=1e-9)
    assert facts["identity"] == table["identity"]
    assert facts["ending"]["kind"] == "complete"
    assert "not to be shown" not in json.dumps(facts)


def test_json_in_pieces_and_of_in_place_operations_alone():
    figures = {"cpu_time": 30.5, "alg_bw": 0.03, "bus_bw": 0.03, "nwrong": None}
    row = result(out_of_place=None, in_place=figures, size=1024, count=256, redop="", root="-1")
    text = document([row], ranks=2, size=1024, args=["sendrecv_perf"])
    facts = facts_of_text(iter([text[:100], text[100:]]), *STRATEGY)
    assert facts["throughput"] == pytest.approx(1024 / 30.5, abs=0.01)


def test_json_with_wrong_values_is_an_error():
    facts = facts_of_text(document([result()], wrong=4), *STRATEGY)
    assert facts["ending"] == {"kind": "traceback", "detail": "wrong values, 4 times"}


@pytest.mark.parametrize("kept", [0.3, 0.9, 0.999])
def test_json_that_was_cut_off_is_refused(kept):
    text = document([result()])
    with pytest.raises(ValueError, match="JSON of nccl-tests that cannot be read, perhaps cut"):
        read(text[: int(len(text) * kept)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"version":1,"nccl_version":21906,"x":' + "[" * 200_000 + "]" * 200_000 + "}",
            "too deep",
        ),
        (document([result()]).replace('"nwrong":0.0', '"nwrong":Infinity', 1), "cannot be read"),
        ('{"version":1,"nccl_version":21906,"x":"' + "x" * (1 << 23) + '"}', "more than 8 MiB"),
    ],
)
def test_a_hostile_document_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


@pytest.mark.parametrize(
    "changes",
    [{"config": None}, {"args": []}, {"nccl_version": None, "config": 1}, {"out_of_bounds": 1}],
)
def test_json_of_another_shape_is_refused(changes):
    with pytest.raises(ValueError, match="JSON of nccl-tests that cannot be read"):
        read(document([result()], **changes))


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


@pytest.mark.parametrize("block", ['{"version": 2}\n', '{"version":2}\n', 'a "nccl_version":\n'])
def test_what_is_no_document_of_nccl_tests_stays_as_it_is(block):
    assert [*as_table([block, "more\n"])] == [block, "more\n"]
