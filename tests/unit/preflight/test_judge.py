"""The verdicts on nodes, from what their modules report."""

import ast
import copy
import functools
from typing import get_type_hints

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.scalebench.core.plugins.module_utils.preflight import gpu_checks
from ansible_collections.scalebench.core.plugins.module_utils.preflight.gpu_checks import (
    cuda_problem,
)
from ansible_collections.scalebench.core.plugins.module_utils.preflight.judge import CHECKS, judge
from ansible_collections.scalebench.core.plugins.module_utils.preflight.verdict import to_mend
from ansible_collections.scalebench.core.plugins.module_utils.records.node_facts import NodeFacts
from report_data import ROOT, documented_rows

V100 = {"name": "Tesla V100-SXM2-16GB", "driver": "580.159.04", "memory_mib": 16384}
PORT = {"rate": "100 Gb/sec (4X EDR)", "state": "4: ACTIVE", "link_layer": "InfiniBand"}
# Of a node without an expected transport and with no diagnosis required.
ROWS = len(CHECKS - {"bf16 on the CPU", "diagnosis", "transport"})
NODE = {
    "fingerprint": {
        "os": "Debian GNU/Linux 12 (bookworm)",
        "kernel": "6.1.0-30-amd64",
        "disk_free_mib": 90000,
        "cuda_driver": "12.9",
        "nccl": "2.28.9",
        "ofed": "MLNX_OFED_LINUX-24.10-4.1.4.0",
        "gpus": [{**V100, "index": index, "uuid": f"GPU-{index}"} for index in range(8)],
        "gpu_settings": [
            {"index": index, "power_limit_watts": 300.0, "persistence_mode": "Enabled"}
            for index in range(8)
        ],
        "interfaces": {"lo": {"mtu": 65536}, "ib0": {"mtu": 2044}},
        "infiniband": {"mlx5_0": {"ports": {"1": PORT}}, "mlx5_1": {"ports": {"1": PORT}}},
    },
    "memlock_kib": -1,
    "clock_skew": [-0.01, 0.02],
    "gpu_health": [
        {
            "index": index,
            "ecc_uncorrected": 0,
            "repair_pending": False,
            "repair_failed": False,
            "mig": "Disabled",
            "fabric": "Completed, Success",
        }
        for index in range(8)
    ],
    "cuda": {"code": 0, "devices": 8, "error": ""},
    "gpu_direct": "nvidia_peermem",
    "interface": "ib0",
    "transport": "NET/IB",
    "xid": [],
    "gpu_processes": [],
    "peers": {"node1": "", "node2": "", "node3": "", "node4": ""},
    "authorized_keys": "67" * 32,
    "container_infiniband": ["mlx5_0", "mlx5_1"],
    "image": "sha256:0123",
    "dataset": {"tfrecord": {"digest": "45" * 32, "problems": []}},
}


def cluster():
    return {f"node{number}": copy.deepcopy(NODE) for number in range(1, 5)}


def test_the_drivers_of_a_node_are_told_in_order():
    drivers = [f"5{number}.0" for number in range(10, 20)]
    gpus = [{**V100, "driver": driver} for driver in drivers[::-1]]
    assert gpu_checks._driver({"fingerprint": {"gpus": gpus}}) == ", ".join(drivers)


def wrong(nodes, expected=()):
    """Return (check, node, verdict) of every row that is not well."""
    rows = judge(nodes, dict(expected))["rows"]
    return [
        (row["check"], row["node"], row["verdict"])
        for row in rows
        if row["verdict"] in ("fail", "warn")
    ]


@pytest.mark.parametrize(
    ("driver", "ofed", "advice"),
    [
        ("580.159.04", "MLNX_OFED_LINUX-24.10-4.1.4.0", "playbooks/provision.yml --tags mlnx_ofed"),
        # provision.yml tried it: the distribution's kernel has the interface, or has it not.
        ("580.159.04", None, "use a stack with the vendor's OFED, or (from Turing on) open kernel"),
        ("440.33.01", "MLNX_OFED_LINUX-4.9-0.1.7.0", "driver 440.33.01 has no nvidia_peermem"),
    ],
)
def test_the_advice_about_gpudirect_can_be_followed(driver, ofed, advice):
    nodes = cluster()
    for node in nodes.values():
        node["gpu_direct"] = ""
        node["fingerprint"]["ofed"] = ofed
        for gpu in node["fingerprint"]["gpus"]:
            gpu["driver"] = driver
    rows = [row for row in judge(nodes, {})["rows"] if row["check"] == "GPUDirect RDMA"]
    assert len(rows) == 4 and all(advice in row["todo"] for row in rows), rows


def test_a_healthy_cluster_passes_every_check():
    judged = judge(cluster(), {"gpus": 8, "gpu_model": "V100", "infiniband_ports": 2})
    assert judged["verdict"] == "pass"
    assert judged["counts"] == {"fail": 0, "warn": 0, "pass": 4 * ROWS, "skip": 0}
    assert judged["summary"] == f"preflight of 4 node(s): {4 * ROWS} pass"


def lose_a_gpu(node):
    node["fingerprint"]["gpus"].pop()
    node["cuda"]["devices"] -= 1


def other_gpus(node):
    for gpu in node["fingerprint"]["gpus"]:
        gpu["name"] = "NVIDIA H100 80GB HBM3"


def other_driver(node):
    for gpu in node["fingerprint"]["gpus"]:
        gpu["driver"] = "570.133.20"


def two_drivers(node):
    node["fingerprint"]["gpus"][3]["driver"] = "570.133.20"


def port_down(node):
    node["fingerprint"]["infiniband"]["mlx5_1"]["ports"]["1"] = {**PORT, "state": "1: DOWN"}


def ecc_error(node):
    node["gpu_health"][3]["ecc_uncorrected"] = 4


def repair_pending(node):
    node["gpu_health"][5]["repair_pending"] = True


def health(index, **facts):
    return lambda node: node["gpu_health"][index].update(facts)


def xid(code):
    return lambda node: node.update(xid=[13, code])


def cuda(**facts):
    return lambda node: node["cuda"].update(facts)


FAULTS = [
    (lose_a_gpu, [("GPUs", "fail")]),
    (lambda node: node.update(gpus_silent=["0000:3e:00.0"]), [("GPUs on the bus", "fail")]),
    (lambda node: node.update(gpu_remarks="WARNING: infoROM"), [("nvidia-smi", "warn")]),
    (other_gpus, [("GPU model", "warn")]),
    (other_driver, [("driver", "fail")]),
    (two_drivers, [("driver", "fail")]),
    (lambda node: node["fingerprint"].update(cuda_driver="12.4"), [("CUDA of the driver", "fail")]),
    (lambda node: node["fingerprint"].update(nccl="2.27.7"), [("NCCL", "fail")]),
    (lambda node: node["fingerprint"].update(ofed="MLNX_OFED_LINUX-5.8"), [("OFED", "fail")]),
    (
        lambda node: node["fingerprint"]["gpu_settings"][0].update(power_limit_watts=250.0),
        [("GPU settings", "warn")],
    ),
    (ecc_error, [("GPU memory", "fail")]),
    (repair_pending, [("GPU memory", "warn")]),
    (health(5, repair_failed=True), [("GPU memory", "fail")]),
    (health(2, mig="Enabled"), [("MIG", "fail")]),
    (health(2, fabric="In Progress"), [("NVSwitch", "fail")]),
    (health(2, fabric="Completed, Initialization error"), [("NVSwitch", "fail")]),
    (
        lambda node: [
            gpu.update(persistence_mode="Disabled") for gpu in node["fingerprint"]["gpu_settings"]
        ],
        [("persistence mode", "warn"), ("GPU settings", "warn")],
    ),
    (cuda(code=802, devices=0), [("CUDA", "fail")]),
    (cuda(devices=7), [("CUDA", "fail")]),
    (cuda(code=None, error="python3: no answer within 60 s"), [("CUDA", "fail")]),
    (lambda node: node.update(interface="ib0,ib1"), [("interface", "fail")]),
    (lambda node: node.update(interface="=ib0"), [("interface", "fail")]),
    (lambda node: node.update(interface="^docker0,lo"), [("interface", "fail")]),
    *((xid(code), [("Xid", "fail")]) for code in (48, 62, 64, 74, 79, 94, 95, 119, 120)),
    (lambda node: node.update(xid=[13, 31]), [("Xid", "warn")]),
    (lambda node: node.update(gpu_processes=["4711 python"]), [("GPU processes", "fail")]),
    (lambda node: node.update(gpu_direct=""), [("GPUDirect RDMA", "warn")]),
    (port_down, [("active InfiniBand ports", "warn"), ("InfiniBand", "warn")]),
    (
        lambda node: node.update(container_infiniband=["mlx5_0"]),
        [("InfiniBand in the container", "fail")],
    ),
    (
        lambda node: node.update(container_verbs=False),
        [("InfiniBand in the container", "fail")],
    ),
    (lambda node: node.update(image="sha256:89ab"), [("image", "fail")]),
    (lambda node: node["dataset"]["tfrecord"].update(digest="cd" * 32), [("dataset", "fail")]),
    (
        lambda node: node["dataset"]["tfrecord"].update(problems=["1 of 1024 files is missing"]),
        [("dataset files", "warn")],
    ),
    (lambda node: node.update(memlock_kib=8192), [("memlock", "fail")]),
    (lambda node: node["fingerprint"].update(disk_free_mib=100), [("disk", "fail")]),
    (lambda node: node.update(writable=False), [("disk", "fail")]),
    (lambda node: node.update(clock_skew=[1.0, 1.2]), [("clock", "warn")]),
    (lambda node: node.update(clock_skew=[-61.2, -60.9]), [("clock", "fail")]),
    (lambda node: node["fingerprint"].update(kernel="6.1.0-29-amd64"), [("kernel", "warn")]),
    (lambda node: node.update(authorized_keys="89" * 32), [("authorised keys", "fail")]),
    (
        lambda node: node["peers"].update(node1="Connection refused"),
        [("ssh to all nodes", "fail")],
    ),
]


@pytest.mark.parametrize(("fault", "expected"), FAULTS)
def test_one_faulty_node_is_named_and_no_other(fault, expected):
    nodes = cluster()
    fault(nodes["node3"])
    found = wrong(nodes, {"free_mib": 500})
    assert sorted(found) == sorted((check, "node3", word) for check, word in expected)
    rows = judge(nodes, {"free_mib": 500})["rows"]
    assert all(row["todo"] for row in rows if row["verdict"] in ("fail", "warn"))


def test_nodes_of_two_models_are_compared_with_those_of_their_own():
    nodes = cluster()
    for name in ("node3", "node4"):
        other_gpus(nodes[name])
        other_driver(nodes[name])
        nodes[name]["fingerprint"].update(nccl="2.27.7", cuda_driver="12.8", ofed="24.10-1.1.4")
        nodes[name]["image"] = "sha256:77"
    models = [("GPU model", name, "warn") for name in ("node3", "node4")]
    assert sorted(wrong(nodes)) == models
    nodes["node4"]["fingerprint"]["nccl"] = "2.28.1"
    nodes["node3"]["fingerprint"]["ofed"] = "24.10-2.1.8"
    lose_a_gpu(nodes["node2"])
    found = [("GPUs", "node2", "fail"), ("NCCL", "node4", "fail"), ("OFED", "node4", "fail")]
    assert sorted(wrong(nodes)) == sorted([*models, *found])


def test_other_models_than_the_expected_one_are_listed_once_in_order():
    nodes = cluster()
    names = ["L4", "A100", "L4", "A10", "B200", "H100"]
    nodes["node1"]["fingerprint"]["gpus"] = [
        {**nodes["node1"]["fingerprint"]["gpus"][0], "index": index, "name": name}
        for index, name in enumerate(names)
    ]
    (row,) = [
        row
        for row in judge(nodes, {"gpu_model": "H100"})["rows"]
        if (row["check"], row["node"]) == ("GPU model", "node1")
    ]
    assert row["found"] == "A10, A100, B200, L4"


def test_a_node_that_lost_all_its_gpus_is_still_compared():
    nodes = cluster()
    nodes["node3"]["fingerprint"]["gpus"] = []
    assert ("GPUs", "node3", "fail") in wrong(nodes)


def test_the_inventorys_expectation_has_precedence_over_the_majority():
    nodes = cluster()
    for node in nodes.values():
        lose_a_gpu(node)
    assert wrong(nodes) == []
    assert {check for check, _, _ in wrong(nodes, {"gpus": 8})} == {"GPUs"}
    assert {check for check, _, _ in wrong(nodes, {"gpu_model": "H100"})} == {"GPU model"}
    assert {check for check, _, _ in wrong(nodes, {"driver": "535.1"})} == {"driver"}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], [("InfiniBand", "warn")]),
        (["mlx5_0"], [("InfiniBand", "warn")]),
        (["mlx5_*"], [("InfiniBand", "fail")]),
        (["mlx5_1"], [("InfiniBand", "fail")]),
        (["mlx5_1:1"], [("InfiniBand", "fail")]),
        ("mlx5_0, mlx5_1", [("InfiniBand", "fail")]),
        (["mlx5_0:1"], [("InfiniBand", "warn")]),
        (["mlx5_0", "mlx4_*"], [("InfiniBand", "fail")]),
    ],
)
def test_only_the_adapters_of_the_ranks_must_be_active(patterns, expected):
    nodes = cluster()
    for node in nodes.values():
        port_down(node)
    assert wrong(nodes, {"infiniband_devices": patterns}) == [
        (check, name, word) for check, word in expected for name in nodes
    ]
    counted = {"infiniband_devices": ["mlx5_1"], "infiniband_ports": 1}
    assert ("active InfiniBand ports", "node1", "fail") in wrong(nodes, counted)


def test_a_node_is_judged_by_what_is_expected_of_it_and_not_of_others():
    nodes = cluster()
    asked = {
        **{"gpus": 9, "gpu_model": "H100", "driver": "535.1", "free_mib": 90001},
        **{"infiniband_devices": ["mlx5_0", "mlx4_0"], "infiniband_ports": 3, "bfloat16": True},
    }
    nodes["node1"]["expected"] = {**dict.fromkeys(asked), "gpus": 0, "free_mib": 500}
    nodes["node3"]["expected"] = asked
    nodes["node3"]["fingerprint"]["cpu_bfloat16"] = False
    checks = {"GPUs", "GPU model", "driver", "disk", "InfiniBand", "active InfiniBand ports"}
    failed = {(check, "node3", "fail") for check in checks}
    assert {*wrong(nodes)} == failed | {("bf16 on the CPU", "node3", "warn")}


def test_a_node_without_gpus_fails_only_where_some_are_expected_of_it():
    nodes = cluster()
    for node in nodes.values():
        node["fingerprint"].update(gpus=[], gpu_settings=[])
    nodes["node3"]["expected"] = nodes["node4"]["expected"] = {"gpus": 8, "gpu_model": "H100"}
    rows = [row for row in judge(nodes)["rows"] if row["check"] == "GPUs"]
    assert {row["node"]: row["verdict"] for row in rows} == {
        **dict.fromkeys(("node1", "node2"), "skip"),
        **dict.fromkeys(("node3", "node4"), "fail"),
    }


def test_most_nodes_have_what_is_expected_of_them():
    nodes = cluster()
    for name in ("node1", "node2", "node3"):
        lose_a_gpu(nodes[name])
    for name in ("node1", "node2"):
        nodes[name]["expected"] = {"gpus": 8}
    failed = [("GPUs", f"node{number}", "fail") for number in range(1, 4)]
    assert wrong(nodes) == failed


def test_what_no_node_has_is_expected_of_no_other():
    nodes = cluster()
    for name in ("node1", "node2", "node3"):
        nodes[name]["expected"] = {"driver": "535.1", "gpus": 9}
    wanted = {
        (check, f"node{number}", "fail") for check in ("driver", "GPUs") for number in (1, 2, 3)
    }
    assert {*wrong(nodes)} == wanted


def test_a_node_of_another_model_is_told_beside_those_whose_model_is_expected():
    nodes = cluster()
    for name in ("node1", "node2", "node3"):
        nodes[name]["expected"] = {"gpu_model": nodes[name]["fingerprint"]["gpus"][0]["name"]}
    for gpu in nodes["node4"]["fingerprint"]["gpus"]:
        gpu["name"] = "NVIDIA A10"
    assert ("GPU model", "node4", "warn") in wrong(nodes)


def test_nodes_with_other_adapters_for_the_ranks_are_not_compared():
    nodes = cluster()
    nodes["node3"]["expected"] = {"infiniband_devices": ["mlx5_0"]}
    port_down(nodes["node3"])
    assert wrong(nodes) == [("InfiniBand", "node3", "warn")]


def test_an_option_of_all_nodes_that_differs_is_refused():
    nodes = cluster()
    for node in nodes.values():
        node["shared"] = {"preflight": True, "preflight_file": "a"}
    assert wrong(nodes) == []
    nodes["node3"]["shared"]["preflight_file"] = "b"
    said = r'^preflight_file differs .*: node\[1-2,4\] has "a", node3 has "b"\. It holds'
    with pytest.raises(ValueError, match=said):
        judge(nodes)
    nodes["node1"] = {"shared": {"preflight": False}}
    with pytest.raises(ValueError, match=r"^preflight differs .*: node1 has false, node\[2-4\]"):
        judge(nodes)


def test_a_spare_port_that_is_up_on_one_node_only_fails_no_node():
    nodes = cluster()
    for name in ("node2", "node3", "node4"):
        port_down(nodes[name])
    assert {word for _, _, word in wrong(nodes)} == {"warn"}
    number = {"infiniband_ports": 1}
    assert ("active InfiniBand ports", "node1", "fail") in wrong(nodes, number)


def test_a_part_of_the_gpus_is_measured_where_the_inventory_says_so():
    nodes = cluster()
    for node in nodes.values():
        lose_a_gpu(node)
        node["gpus_silent"] = ["0000:3e:00.0"]
    found = wrong(nodes)
    assert found == [("GPUs on the bus", name, "fail") for name in nodes]
    assert "0000:3e:00.0" in judge(nodes)["rows"][0]["found"]
    assert wrong(nodes, {"gpus": 7}) == []


def test_a_network_is_no_name_of_an_interface():
    nodes = cluster()
    for node in nodes.values():
        node["interface"] = "10.11.0.0/24"
    assert wrong(nodes) == []


def test_only_what_is_computed_in_bf16_warns_of_a_cpu_without_instructions_for_it():
    nodes = cluster()
    for name, there in (("node1", True), ("node2", False), ("node3", None)):
        nodes[name]["fingerprint"]["cpu_bfloat16"] = there
    rows = judge(nodes, {"bfloat16": True})["rows"]
    of_it = {row["node"]: row["verdict"] for row in rows if row["check"] == "bf16 on the CPU"}
    (todo,) = (row["todo"] for row in to_mend(rows))
    assert "precision=fp32" in todo
    assert of_it == {"node1": "pass", "node2": "warn", "node3": "skip", "node4": "skip"}
    assert wrong(nodes) == []


def test_every_framework_that_computes_in_bf16_on_a_cpu_asks_for_it():
    plays = yaml.safe_load((ROOT / "playbooks/bench.yml").read_text())
    tasks = next(play["tasks"] for play in plays if play["name"] == "Benchmark the cluster")
    (asked,) = (
        one["vars"]["preflight_bfloat16"]
        for one in tasks[0]["block"]
        if one.get("ansible.builtin.import_role") == {"name": "preflight"}
    )

    def warns(**cell):
        cells = [{"framework": "mxnet", "device": "cpu", "precision": "amp", **cell}]
        templar = Templar(DataLoader(), variables={"__campaign_plan": {"cells": cells}})
        return templar.template(trust_as_template(asked))

    for framework in ("pytorch", "tensorflow", "mxnet"):
        assert warns(framework=framework)
    assert warns(precision="bf16")
    for other in ({"precision": "fp32"}, {"device": "gpu"}, {"unavailable": "OneFlow has none"}):
        assert not warns(**other)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"code": 802}, ("cuInit returned 802 system not ready", "start nvidia-fabricmanager")),
        ({"code": 803}, ("cuInit returned 803 libcuda and the kernel", "reboot the node")),
        ({"code": 100}, ("cuInit returned 100 no CUDA device", "see /dev/nvidia")),
        ({"code": 4711}, ("cuInit returned 4711", "see CUresult")),
        (
            {"error": "OSError: libcuda.so.1: cannot open shared object file"},
            ("OSError: libcuda.so.1", "put the folder of libcuda.so.1 into /etc/ld.so.conf.d"),
        ),
        ({"code": 0, "devices": 8}, ("", "")),
    ],
)
def test_codes_of_cuda_are_told_in_words(state, words):
    told = cuda_problem({"code": None, "devices": None, "error": "", **state}, 8)
    assert [text.startswith(word) for text, word in zip(told, words)] == [True, True]


def test_a_clock_difference_within_the_delay_passes():
    nodes = cluster()
    nodes["node2"]["clock_skew"] = [-0.2, 4.0]
    assert wrong(nodes) == []


def test_nodes_without_gpus_skip_with_a_reason():
    nodes = cluster()
    for node in nodes.values():
        node["fingerprint"].update(
            gpus=[], gpu_settings=[], infiniband={}, ofed=None, nccl=None, cuda_driver=None
        )
        node.update(container_infiniband=None, image=None, dataset=None, memlock_kib=64, peers=None)
        node.update(interface="", cuda=None)
    judged = judge(nodes, {})
    assert judged["verdict"] == "pass"
    skipped = {row["check"]: row["found"] for row in judged["rows"] if row["verdict"] == "skip"}
    assert skipped["GPUs"] == "the node has no NVIDIA GPU"
    assert skipped["memlock"] == "64 KiB; the node has no RDMA device"
    assert [row["check"] for row in judge(nodes, {"gpus": 8})["rows"][:4]] == ["GPUs"] * 4


def test_a_node_without_gpus_is_asked_for_no_gpu_direct():
    nodes = cluster()
    for node in nodes.values():
        node["fingerprint"]["gpus"] = []
        node.update(gpu_direct="", gpu_health=[], cuda=None)
    assert {
        row["verdict"] for row in judge(nodes, {})["rows"] if row["check"] == "GPUDirect RDMA"
    } == {"skip"}


def test_an_unreachable_node_fails_and_the_others_are_judged():
    nodes = cluster()
    nodes["node3"] = {"problem": "nvidia-smi: exit code 15:\nGPU is lost"}
    nodes["node4"]["memlock_kib"] = 8192
    assert wrong(nodes) == [("answer", "node3", "fail"), ("memlock", "node4", "fail")]
    judged = judge(nodes)
    assert judged["rows"][0]["found"] == "nvidia-smi: exit code 15: GPU is lost"
    assert judged["counts"]["pass"] == 3 * ROWS - 1
    assert judged["summary"].startswith("preflight of 4 node(s): 2 fail")


def at(*keys, value):
    """Return the fault of a value at a place in a node's facts; without a value it is not there."""

    def fault(node):
        for key in keys[:-1]:
            node = node[key]
        if value is None:
            del node[keys[-1]]
        else:
            node[keys[-1]] = value

    return fault


GPU = ("fingerprint", "gpus", 0)
UNFIT = [
    (at("fingerprint", "disk_free_mib", value="x"),
     "facts.fingerprint.disk_free_mib is 'x', not a whole number"),
    (at("fingerprint", "gpus", value=[{}]),
     "facts.fingerprint.gpus[0] has no driver, index, name"),
    (at(*GPU, "name", value=["V100"]), "facts.fingerprint.gpus[0].name is ['V100'], not a text"),
    (at("fingerprint", "infiniband", "mlx5_0", "ports", "1", value={}),
     "facts.fingerprint.infiniband.mlx5_0.ports.1 has no rate, state"),
    (at("fingerprint", "kernel", value=float("nan")), "kernel: it holds nan, which is no figure"),
    (at("fingerprint", value="x"), "facts.fingerprint is 'x', not a mapping"),
    (at("clock_skew", value=None), "facts has no clock_skew"),
    (at("clock_skew", value=[1.0]), "facts.clock_skew is [1.0], not two numbers"),
    (at("peers", value="x"), "facts.peers is 'x', not a mapping"),
    (at("gpu_health", value=True), "facts.gpu_health is True, not a list"),
    (at("gpu_health", 0, "index", value=None), "facts.gpu_health[0] has no index"),
    (at("cuda", value={"code": 0}), "facts.cuda has no devices, error"),
    (at("xid", value=["79"]), "facts.xid[0] is '79', not a whole number"),
    (at("xid", value=[10**70]), f"xid: it holds 1{39 * '0'}, which is no figure"),
    (at("image", value="\ud800"), "image: 'utf-8' codec can't encode character"),
    (at("dataset", "tfrecord", value="x"), "facts.dataset.tfrecord is 'x', not a mapping"),
    (at("addresses", value={"eth0": "10.1"}), "facts.addresses.eth0: Expected 4 octets in '10.1'"),
    (at("routes", value=[{"interface": "eth0", "network": "x/99", "metric": 0}]),
     "facts.routes[0].network: "),
    (at("problem", value=["x"]), "['x']"),
    (at("image", value=functools.reduce(lambda inner, _: [inner], range(5000), [])),
     "image: nested too deep"),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "said"), UNFIT)
def test_a_node_whose_facts_do_not_fit_is_unfit_and_the_others_are_judged(fault, said):
    nodes = cluster()
    fault(nodes["node3"])
    nodes["node4"]["memlock_kib"] = 8192
    assert wrong(nodes) == [("answer", "node3", "fail"), ("memlock", "node4", "fail")]
    assert judge(nodes)["rows"][0]["found"].startswith(said)
    assert judge(nodes)["counts"]["pass"] == 3 * ROWS - 1


def test_a_driver_without_a_number_gets_the_advice_of_a_new_one():
    nodes = cluster()
    for node in nodes.values():
        node["gpu_direct"] = ""
        for gpu in node["fingerprint"]["gpus"]:
            gpu["driver"] = "[N/A]"
    rows = [row for row in judge(nodes, {})["rows"] if row["check"] == "GPUDirect RDMA"]
    assert [row["todo"].startswith("load nvidia_peermem") for row in rows] == [True] * 4


def test_unreachable_nodes_fail():
    judged = judge({"node1": {"problem": "no route to host"}}, {"gpus": 8})
    assert judged["verdict"] == "fail"
    assert judged["counts"] == {"fail": 1, "warn": 0, "pass": 0, "skip": 0}


def test_unreachable_nodes_are_one_row_of_what_to_mend():
    words = (
        "Failed to connect to the host via ssh: ssh: connect to host 127.0.0.{} port 22: refused"
    )
    nodes = {f"node{n}": {"problem": words.format(n + 1)} for n in range(1, 65)}
    nodes["node65"] = {"problem": "node65: no route"}
    nodes["node66"] = {"problem": "node66: no route"}
    rows = to_mend(judge(nodes)["rows"])
    assert [(row["node"], row["found"]) for row in rows] == [
        ("node[1-64]", words.format(2)),
        ("node[65-66]", "node65: no route"),
    ]


@pytest.mark.parametrize(
    ("code", "words"),
    [  # of CUresult in cuda.h
        (34, "stub"), (46, "busy or unavailable"), (100, "no CUDA device"),
        (802, "not ready"), (803, "differ in version"), (804, "forward compatibility"),
        (999, "unknown error"),
    ],
)  # fmt: skip
def test_the_errors_of_cuda_are_told_by_their_numbers(code, words):
    found, todo = gpu_checks.cuda_problem({"code": code, "devices": 0, "error": ""}, 1)
    assert found.startswith(f"cuInit returned {code} ") and words in found
    assert todo and "see CUresult" not in todo


def a_spare_port_down(node):
    spare = {**PORT, "state": "1: DOWN"}
    node["fingerprint"]["infiniband"]["mlx5_9"] = {"ports": {"1": spare}}


def test_an_accepted_failure_is_a_warning_that_reports_show():
    nodes = cluster()
    a_spare_port_down(nodes["node3"])
    lose_a_gpu(nodes["node4"])
    expected = {"infiniband_devices": ["mlx5_*"]}
    failed = {("InfiniBand", "node3", "fail"), ("GPUs", "node4", "fail")}
    assert failed < set(wrong(nodes, expected))
    accepted = {"node3": ["InfiniBand"], "node[12]": ["GPUs"]}
    judged = judge(nodes, {**expected, "accepted": accepted})
    rows = {(row["check"], row["node"]): row for row in judged["rows"]}
    assert rows["InfiniBand", "node3"]["verdict"] == "warn"
    assert rows["InfiniBand", "node3"]["found"] == "mlx5_9/1 1: DOWN (accepted)"
    # Accepted on other nodes only.
    assert rows["GPUs", "node4"]["verdict"] == "fail" == judged["verdict"]
    assert any("(accepted)" in row["found"] for row in to_mend(judged["rows"]))


def test_what_is_accepted_on_some_nodes_counts_together():
    nodes = cluster()
    for name in ("node1", "node2", "node3"):
        ecc_error(nodes[name])
        lose_a_gpu(nodes[name])
    nodes["node1"]["expected"] = {"gpus": 8, "accepted": {"node1": ["GPUs"]}}
    nodes["node2"]["expected"] = {"gpus": 8, "accepted": {"node1": "GPU memory", "node2": "GPUs"}}
    nodes["node3"]["expected"] = {"gpus": 8}
    nodes["node4"] = {"problem": "lost", "expected": {"accepted": {"node2": ["GPU memory"]}}}
    failed = [row for row in wrong(nodes) if row[2] == "fail"]
    assert failed == [
        *[("answer", "node4", "fail"), ("GPUs", "node3", "fail"), ("GPU memory", "node3", "fail")]
    ]


@pytest.mark.parametrize("names", [None, 5])
def test_what_names_no_checks_is_refused_as_accepted(names):
    with pytest.raises(ValueError, match=r"preflight_accepted: node1 has .*: write its checks as"):
        judge(cluster(), {"accepted": {"node1": names}})


def test_settings_of_gpus_are_shown_without_their_index():
    nodes = cluster()
    nodes["node2"]["fingerprint"]["gpu_settings"][0].update(power_limit_watts=250.0, ecc=None)
    (row,) = [row for row in judge(nodes, {})["rows"] if row["verdict"] == "warn"]
    assert row["check"] == "GPU settings"
    low, usual = (
        f"persistence_mode Enabled, power_limit_watts {watts}" for watts in (250.0, 300.0)
    )
    assert f"{low}; {usual}" in row["found"]


def test_misspelt_checks_are_told_in_their_order():
    names = ["zebra", "apple", "mango", "cherry", "plum", "fig"]
    judged = judge(cluster(), {"accepted": {"node1": names}})
    told = [row["found"] for row in judged["rows"] if row["check"] == "preflight_accepted"]
    assert told == [f"no check {name}" for name in sorted(names)]


def test_a_misspelt_check_accepts_nothing_and_is_told():
    nodes = cluster()
    nodes["node2"] = {"problem": "cannot be reached"}
    accepted = {"*": ["Infiniband"], "node2": ["answer"], "node9": ["GPUs"]}
    judged = judge(nodes, {"accepted": accepted})
    told = [row for row in judged["rows"] if row["check"] == "preflight_accepted"]
    assert {row["node"] for row in told} == {"node1", "node3", "node4", "node9"}
    assert told[-1]["found"] == "no node has this name"
    assert told[0]["found"] == "no check Infiniband" and "InfiniBand," in told[0]["todo"]
    assert judged["counts"]["fail"] == 1


def test_a_name_outside_this_run_and_a_check_without_a_row_are_known():
    nodes = cluster()
    for node in nodes.values():
        node["fingerprint"]["gpus"] = []
    accepted = {"node9": ["GPUs"], "node[12]": ["MIG", "dataset files"]}
    expected = {"accepted": accepted, "inventory": [*nodes, "node9"]}
    rows = judge(nodes, expected)["rows"]
    assert "MIG" not in {row["check"] for row in rows}
    assert [row for row in rows if row["check"] == "preflight_accepted"] == []


def test_the_names_that_may_be_accepted_are_those_of_the_checks():
    nodes = cluster()
    nodes["node1"]["dataset"]["tfrecord"]["problems"] = ["no index"]
    asked = {"bfloat16": True, "diagnosis": {"file": "d.json", "content": None}}
    rows = {row["check"] for row in judge(nodes, asked)["rows"]}
    assert not rows - CHECKS, "add it to CHECKS of preflight/judge.py"
    assert rows == CHECKS


def test_each_fact_that_the_module_returns_is_described_and_has_a_type():
    body = ast.parse((ROOT / "library/preflight_facts.py").read_text())
    (call,) = (
        node
        for node in ast.walk(body)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "exit_json"
    )
    (text,) = (
        node.value.value
        for node in body.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "RETURN"
    )
    # The action plugin adds this one.
    returned = {word.arg for word in call.keywords} | {"clock_skew"}
    assert returned == yaml.safe_load(text).keys(), "RETURN of library/preflight_facts.py"
    assert returned <= get_type_hints(NodeFacts).keys(), "NodeFacts in records/node_facts.py"


def test_the_documentation_says_what_is_wrong_in_each_check():
    rows = documented_rows("reading-a-report.md", "Preflight")
    assert {check for row in rows for check in row[0].split(", ")} > CHECKS


def test_a_node_of_which_some_gpus_may_be_used_is_fit():
    nodes = cluster()
    shared = nodes["node2"]
    shared["fingerprint"]["gpus"] = shared["fingerprint"]["gpus"][2:4]
    shared["gpus_chosen"] = True
    judged = judge(nodes, {"gpus": 8, "gpu_model": "V100"})
    assert judged["verdict"] == "pass", wrong(nodes)
    rows = {(row["check"], row["node"]): row["found"] for row in judged["rows"]}
    assert rows["GPUs", "node2"] == "2, 3 of scalebench_gpus"
    # Fewer CUDA devices than GPUs that may be used.
    shared["cuda"]["devices"] = 1
    assert ("CUDA", "node2", "fail") in wrong(nodes)
