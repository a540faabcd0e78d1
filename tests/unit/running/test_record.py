"""The run record: one ending out of what nodes and log say."""

import json
from functools import reduce
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.records.runs import check_run
from ansible_collections.scalebench.core.plugins.module_utils.records.shape import parse_json
from ansible_collections.scalebench.core.plugins.module_utils.running.record import not_run, record
from campaign_data import benchmarks, cluster
from telemetry_data import telemetry

CAMPAIGN = {"campaign": "c", "session": "s", "recorded": "2026-01-01T00:00:20Z"}

# ansible.plugins.connection.ssh, of a connection that ended.
LOST = (
    'Data could not be sent to remote host "10.0.0.2". Make sure this host can be reached over ssh:'
)
OK = {"ending": "ok", "reason": "", "exit_code": 0, "seconds": 20.0, "started": "2026-01-01T00:00Z"}
LOG = {"ending": {"kind": "complete", "detail": ""}, "throughput": 24.1, "count": 50}


def planned():
    cells = plan.build(benchmarks(), parse_options({"topology": "2n1g"}), cluster(2))["cells"]
    machines = {"node1": {"boot_id": "a"}, "node2": {"boot_id": "b"}}
    return {**plan.repeats(cells)[0], "attempt": 1, "kind": "measured", "machines": machines}


def made(runs=None, facts=None, **repeat):
    runs = {"node1": OK, "node2": OK, **(runs or {})}
    told = facts if facts and "msg" in facts else {**LOG, **(facts or {})}
    return record(CAMPAIGN, {**planned(), **repeat}, runs, told)


def test_a_repeat_is_ok_when_nodes_and_log_are():
    kept = made({"node2": {**OK, "seconds": 21.5}})
    assert (kept["ending"], kept["reason"], kept["seconds"]) == ("ok", "", 21.5)
    assert kept["facts"]["throughput"] == 24.1
    assert "commands" not in kept["cell"]


@pytest.mark.parametrize(
    ("runs", "facts", "ending", "reason"),
    [
        ({"node2": {**OK, "ending": "crashed", "reason": "exit code 1"}}, {}, "crashed", "node2"),
        ({"node1": {**OK, "ending": "timeout", "reason": "not done"},
          "node2": {**OK, "ending": "crashed", "reason": "reset"}}, {}, "timeout", "node1: not"),
        ({"node1": {**OK, "ending": "cancelled", "reason": "another node"},
          "node2": {**OK, "ending": "crashed", "reason": "reset"}}, {}, "crashed", "node2: reset"),
        ({"node2": {"unreachable": True, "msg": "timed out"}}, {}, "launch_failed",
         "node2: unreachable: timed out"),
        ({"node2": {"unreachable": True, "msg": LOST}}, {}, "launch_failed",
         "node2: unreachable: the connection of this node, its jump host or the network was lost;"
         " ssh printed: nothing"),
        ({"node2": {"unreachable": True, "msg": f"{LOST} Loading cuda/12\n"}}, {},
         "launch_failed", "ssh printed: Loading cuda/12"),
        ({"node2": {"failed": True, "msg": "no space"}}, {}, "launch_failed", "no space"),
        ({"node2": {"failed": True, "msg": "no JSON", "module_stderr": "bash: Killed\n"}}, {},
         "launch_failed", "node2: the node gave no result: bash: Killed"),
        ({"node2": {"failed": True, "msg": "no JSON", "module_stderr":
          "srun: error: n2: task 0: Killed\nsrun: launch/slurm: _step_signal: Terminating\n"}}, {},
         "launch_failed", "node2: the node gave no result: srun: error: n2: task 0: Killed"),
        ({"node1": {**OK, "ending": "crashed", "reason": "exit code 1"}},
         {"ending": {"kind": "out_of_memory", "detail": "CUDA out of memory"}},
         "out_of_memory", "CUDA out of memory"),
        ({"node1": {**OK, "ending": "crashed", "reason": "exit code 1: Connection reset"},
          "node2": {**OK, "ending": "crashed", "reason": "exit code 1: CUDA out of memory"}},
         {"msg": "x.log: no known format"}, "out_of_memory", "node2: exit code 1: CUDA out of"),
        ({"node1": {**OK, "ending": "crashed", "exit_code": 143, "reason": "exit code 143: reset"},
          "node2": {**OK, "ending": "crashed", "exit_code": 139, "reason": "exit code 139"}}, {},
         "crashed", "node2: exit code 139"),
        ({"node1": {**OK, "ending": "crashed", "exit_code": 1, "reason": "exit code 1: reset"},
          "node2": {**OK, "ending": "crashed", "exit_code": -7, "reason": "ended by signal 7"}}, {},
         "crashed", "node2: ended by signal 7"),
        ({"node1": {**OK, "ending": "crashed", "exit_code": 137, "reason": "exit code 137"},
          "node2": {**OK, "ending": "crashed", "exit_code": 143, "reason": "exit code 143"}}, {},
         "crashed", "node1: exit code 137"),
        ({"node1": {**OK, "ending": "timeout", "exit_code": None, "reason": "not done"},
          "node2": {**OK, "ending": "crashed", "exit_code": 139, "reason": "exit code 139"}}, {},
         "timeout", "node1: not done"),
        ({"node1": {**OK, "ending": "crashed", "reason": "exit code 3"}},
         {"ending": {"kind": "nan_loss", "detail": "loss nan"}}, "nan_loss", "loss nan"),
        ({}, {"failed": False, "msg": "x.log: no known format"}, "invalid", "no known format"),
        ({}, {"ending": {"kind": "truncated", "detail": ""}}, "invalid", "the log is truncated"),
        ({}, {"throughput": None, "reason": "precision is 'amp', expected 'fp32'"}, "invalid",
         "precision is 'amp'"),
        ({}, {"loss": {"first": 7.0, "last": float("nan")}}, "invalid",
         "loss_finite: the last loss is nan"),
        ({}, {"count": 57}, "invalid", "57 iterations were measured, not 50"),
    ],
)  # fmt: skip
def test_ending_and_reason_of_a_failed_repeat(runs, facts, ending, reason):
    kept = made(runs, facts)
    assert kept["ending"] == ending
    assert reason in kept["reason"]


@pytest.mark.parametrize(
    "changes",
    [
        {"ending": 5},
        {"ending": "skipped"},
        {"ending": "well"},
        {"seconds": "x"},
        {"seconds": float("inf")},
        {"telemetry": [1]},
        {"telemetry": {"network": 5}},
        {"telemetry": reduce(lambda inner, _: {"a": inner}, range(5000), {})},
        {"device_users": 5},
        {"transport": ["TCP/eth0", 1]},
        {"env": {"A": "\ud800"}},
    ],
)
def test_an_answer_that_a_record_may_not_hold_is_a_failed_launch(changes):
    kept = made({"node2": {**OK, **changes}})
    assert (kept["ending"], kept["reason"][:24]) == ("launch_failed", "node2: the node gave no ")
    again = check_run(parse_json(json.dumps(kept)), "x.log")
    assert (again["ending"], again["nodes"]["node1"]["seconds"]) == ("launch_failed", 20.0)


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({"memory_stall_seconds": "many"}, "memory_stall_seconds is 'many', not a number"),
        ({"memory_stall_seconds": None}, "memory_stall_seconds is None, not a number"),
        ({"swapped_in_mib": []}, "swapped_in_mib is [], not a number"),
        ({"cpu_throttle_events": True}, "cpu_throttle_events is True, not a number"),
        ({"longest_pause_seconds": "1"}, "longest_pause_seconds is '1', not a number"),
        ({"load": 3.0}, "load is 3.0, not a mapping"),
        ({"load": {"before": "x"}}, "load.before is 'x', not a number"),
        ({"cpu": {"own_seconds": 1.0, "steal_seconds": "x"}},
         "cpu.steal_seconds is 'x', not a number"),
        ({"gpus": [{}]}, "gpus[0] has no index"),
        ({"gpus": [{"index": 0, "xid": None}]}, "gpus[0].xid is None, not a list"),
        ({"gpus": [{"index": 0, "xid": ["79"]}]}, "gpus[0].xid[0] is '79', not a whole number"),
        ({"gpus": [{"index": 0, "ecc_uncorrected": "1"}]},
         "gpus[0].ecc_uncorrected is '1', not a whole number"),
        ({"network": {"eth0": {"errors": "x"}}}, "network.eth0.errors is 'x', not a number"),
        ({"infiniband": {"ib0": {"link_downed": {}}}},
         "infiniband.ib0.link_downed is {}, not a number"),
    ],
)  # fmt: skip
def test_telemetry_that_cannot_be_judged_is_a_failed_launch_with_its_node_and_key(figures, said):
    kept = made({"node2": {**OK, "telemetry": telemetry(**figures)}})
    assert kept["ending"] == "launch_failed"
    assert kept["reason"] == f"node2: the node gave no valid result: it.telemetry.{said}"


def test_processor_time_without_that_of_others_is_no_disturbance():
    kept = made({"node2": {**OK, "telemetry": telemetry(cpu={"own_seconds": 1.0, "cores": 2})}})
    assert (kept["ending"], kept["disturbances"]) == ("ok", [])


def test_the_last_words_of_a_node_may_be_of_any_type():
    kept = made({"node2": {"failed": True, "module_stderr": ["x"], "msg": 5}})
    assert kept["reason"] == "node2: the node gave no result: ['x']"


def test_a_log_that_cannot_be_read_leaves_no_facts():
    assert made(facts={"failed": False, "msg": "gone"})["facts"] is None


def test_disturbances_name_the_node():
    telemetry = {
        "seconds": 20.0,
        "cpu": {"cores": 2, "own_seconds": 10.0, "busy_seconds": 30.0, "steal_seconds": 0.0},
    }
    kept = made({"node2": {**OK, "telemetry": telemetry}})
    assert kept["ending"] == "ok"
    assert [(one["kind"], one["node"]) for one in kept["disturbances"]] == [
        ("other_process", "node2")
    ]


@pytest.mark.parametrize(
    ("is_searched", "detail", "kind"),
    [(True, "out_of_memory", "search"), (False, "out_of_memory", "measured"),
     (True, "nan_loss", "measured")],
)  # fmt: skip
def test_a_searched_batch_that_does_not_last_is_evidence_of_the_search(is_searched, detail, kind):
    crashed = {**OK, "ending": "crashed", "reason": "exit code 1"}
    cell = {**planned()["cell"], "searched": is_searched}
    kept = made({"node1": crashed}, {"ending": {"kind": detail, "detail": "said"}}, cell=cell)
    assert (kept["ending"], kept["kind"]) == (detail, kind)


def test_the_limit_of_memory_is_the_smallest_of_the_nodes():
    runs = {"node1": {**OK, "memory_mib": 8192}, "node2": {**OK, "memory_mib": 2048}}
    assert made(runs)["memory_mib"] == 2048
    runs["node2"]["memory_mib"] = 0
    assert made(runs)["memory_mib"] == 8192


def test_a_packed_neighbour_is_not_a_disturbance_and_steal_time_is():
    telemetry = {
        "seconds": 20.0,
        "cpu": {"cores": 2, "own_seconds": 10.0, "busy_seconds": 30.0, "steal_seconds": 9.0},
    }
    kept = made({"node2": {**OK, "telemetry": telemetry}}, shares_machine=True)
    assert [one["kind"] for one in kept["disturbances"]] == ["steal"]


def test_a_repeat_that_was_not_tried_has_a_record_too():
    kept = not_run(CAMPAIGN, planned(), "skipped", "out of memory at 4")
    assert (kept["ending"], kept["reason"]) == ("skipped", "out of memory at 4")
    assert (kept["nodes"], kept["facts"], kept["seconds"]) == ({}, None, 0.0)
    assert set(made()) == set(kept)


def test_gpus_in_use_before_the_repeat_are_a_disturbance():
    kept = made({"node2": {**OK, "device_users": ["4242, python"]}})
    assert kept["disturbances"] == [
        {"kind": "device_busy", "node": "node2", "detail": "on its GPUs before: 4242, python"}
    ]


def on(transport, expected="NET/IB", **runs):
    """Return the record of a repeat whose nodes took a transport."""
    nodes = {
        name: {**OK, "transport": transport, **runs.get(name, {})} for name in ("node1", "node2")
    }
    repeat = planned()
    cell = {**repeat["cell"], "transport": expected} if expected else repeat["cell"]
    return made(nodes, cell=cell)


def test_the_expected_transport_is_recorded_on_each_node():
    kept = on(["NET/IB", "P2P/IPC"])
    assert kept["ending"] == "ok"
    assert kept["nodes"]["node2"]["transport"] == ["NET/IB", "P2P/IPC"]


def test_a_fall_back_to_tcp_has_a_name_and_a_place():
    kept = on(["NET/IB"], node2={"transport": ["NET/Socket", "P2P/IPC"]})
    assert (kept["ending"], kept["reason"]) == (
        "wrong_transport",
        "node2: NCCL took NET/Socket between the nodes, expected was NET/IB",
    )


def test_where_nothing_is_expected_any_transport_is_good():
    assert on(["NET/Socket"], expected=None)["ending"] == "ok"


def test_where_nccl_tells_nothing_the_interfaces_with_the_traffic_do():
    network = {
        "eth0": {"sent_mib": 80.0, "received_mib": 15.0},
        "eth1": {"sent_mib": 1.0, "received_mib": 4.0},
    }
    seen = {"telemetry": {"seconds": 20.0, "cpu": {"own_seconds": 1.0}, "network": network}}
    gloo = on([], expected=None, node2=seen)
    assert gloo["nodes"]["node2"]["transport"] == ["TCP/eth0"]
    assert not gloo["nodes"]["node1"]["transport"]
    assert on(["SHM"], expected=None, node2=seen)["nodes"]["node2"]["transport"] == ["SHM"]
    # The traffic may be a file server's.
    assert on([], node2=seen)["nodes"]["node2"]["transport"] == []
    network["eth0"] = {"sent_mib": 0.4, "received_mib": 0.1}
    network["eth1"] = {"sent_mib": 0.1}
    assert on([], expected=None, node2=seen)["nodes"]["node2"]["transport"] == []


@pytest.mark.parametrize(
    ("traffic", "transport", "reason"),
    [
        ({"eth0": 80.0, "eth1": 30.0}, ["TCP/eth0", "TCP/eth1"], ""),
        (
            {"eth0": 0.5, "eth1": 80.0},
            ["TCP/eth1"],
            "node2: TCP/eth1 carried the traffic by the kernel's counters, expected was TCP/eth0",
        ),
        ({"eth0": 0.5, "eth1": 0.9}, [], ""),
        ({}, [], ""),
    ],
)
def test_another_interface_than_expected_is_a_wrong_transport(traffic, transport, reason):
    network = {name: {"sent_mib": mib} for name, mib in traffic.items()}
    seen = {"telemetry": {"seconds": 20.0, "cpu": {"own_seconds": 1.0}, "network": network}}
    kept = on([], expected="TCP/eth0", node2=seen)
    assert kept["nodes"]["node2"]["transport"] == transport
    assert (kept["ending"], kept["reason"]) == ("wrong_transport" if reason else "ok", reason)


def test_one_node_has_no_traffic_to_another():
    network = {"lo": {"sent_mib": 80.0, "received_mib": 80.0}}
    seen = {"telemetry": {"seconds": 20.0, "cpu": {"own_seconds": 1.0}, "network": network}}
    alone = {**planned()["cell"], "nodes": 1, "topology": "1n4g", "node_names": ["node1"]}
    assert not made({"node1": {**OK, **seen}}, cell=alone)["nodes"]["node1"].get("transport")


def test_a_crash_is_no_matter_of_transport():
    crashed = {"node2": {"ending": "crashed", "reason": "exit code 1"}}
    assert on(["NET/Socket"], **crashed)["ending"] == "crashed"


FIXTURES = Path(__file__).parents[2] / "fixtures" / "logs"
LOGS = Path(__file__).parents[4] / "shared" / "logs"
MXNET = "wanghuancoder+PerformanceReport@66245fd/ResNet50V1.5/OtherReports/MxNet/logs"


@pytest.mark.parametrize(
    ("path", "rule", "cell"),
    [
        # Recipe upstream of each: a line of MXNet and OneFlow stands for 20 steps.
        (LOGS / MXNET / "mxnet_gpu1_gpu8_fp32_bs128.txt", ("mxnet_cumulative", {"warmup": 1}),
         {"nodes": 1, "devices_per_node": 8, "warmup": 20, "iterations": 1480}),
        (FIXTURES / "oneflow.log", ("oneflow_report", {"warmup": 1, "iterations": None}),
         {"nodes": 1, "devices_per_node": 1, "warmup": 20, "iterations": 180}),
        (FIXTURES / "oneflow_unix_time.log", ("dlperf_oneflow", {"warmup": 20, "iterations": 100}),
         {"nodes": 2, "devices_per_node": 8, "warmup": 20, "iterations": 100}),
        (FIXTURES / "paddle_fluid.log", ("dlperf_paddle", {"warmup": 20, "iterations": 100}),
         {"nodes": 1, "devices_per_node": 8, "warmup": 20, "iterations": 100}),
        (FIXTURES / "tensorflow_ngc_train.log", ("dlperf_tensorflow", {"warmup": 0}),
         {"nodes": 1, "devices_per_node": 8, "warmup": 20, "iterations": 100}),
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)  # fmt: skip
def test_of_a_published_program_steps_are_counted_not_lines(path, rule, cell):
    if not path.is_file():
        pytest.skip("the raw logs are not beside this tree")
    reading = logs.read(path.read_bytes())
    facts = log_facts(reading, *rule)
    cell = {**planned()["cell"], "batch_size_per_device": 128, **cell}
    kept = made(facts=facts, cell=cell)
    assert (kept["ending"], kept["reason"]) == ("ok", "")
    short = made(facts=facts, cell={**cell, "iterations": cell["iterations"] + 20})
    assert f"{cell['iterations']} iterations were measured, not" in short["reason"]
