"""playbooks/preflight.yml over the local nodes, and as the first step of bench.yml."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.preflight.transport_checks import (
    transport_checks,
)
from local_nodes import ROOT, TIMED_STEPS, failures

# Interfaces of one network, as two ports of a node: which of them carries is up to the kernel.
TWO_PORTS = """
set -e
for port in 0 1; do
  ip link add eth$port type veth peer peer$port
  ip address add 10.99.0.$1$((port + 1))/16 dev eth$port noprefixroute
  ip link set eth$port up
  ip link set peer$port up
done
ip link set lo up
shift
for route in "$@"; do ip route add $route; done
ip -json route get 10.99.0.21 || echo '[{"dev": ""}]'
exec "$PYTHON" -c 'import json
from ansible_collections.scalebench.core.plugins.module_utils.node import fitness
print(json.dumps({"addresses": fitness.addresses(), "routes": fitness.routes()}))'
"""


def test_local_nodes_pass_and_reach_each_other(cluster, tmp_path):
    done = cluster.run("preflight.yml", preflight_file=str(tmp_path / "verdicts.json"))
    assert done.rc == 0, failures(done)
    verdicts = json.loads((tmp_path / "verdicts.json").read_text())
    assert verdicts["verdict"] == "pass"
    ssh = [row for row in verdicts["rows"] if row["check"] == "ssh to all nodes"]
    assert [(row["node"], row["found"]) for row in ssh] == [
        (f"node{number}", "4 of 4") for number in range(1, 5)
    ]
    ways = [row["found"] for row in verdicts["rows"] if row["check"] == "transport"]
    assert ways == ["TCP/lo, 127.0.0.1"] * 4


def test_a_node_that_is_not_what_was_expected_ends_it(cluster):
    done = cluster.run("preflight.yml", preflight_gpus=8, scalebench_transport="TCP/eth9")
    assert done.rc != 0
    assert "8 check(s) failed, see the table above" in failures(done)
    assert "TCP/eth9 expected, scalebench_interface is lo" in done.stdout.read()


def test_each_node_is_judged_by_what_the_inventory_says_of_it(cluster, tmp_path):
    hosts, verdicts = tmp_path / "hosts.yml", tmp_path / "verdicts.json"
    arguments = ("-i inventory/local", f"-i {hosts}")
    own = {
        "node1": {"scalebench_rdma_adapters": ["mlx5_0"]},
        "node3": {"preflight_gpus": 8, "preflight_accepted": {"node3": ["GPUs"]}},
        "node4": {"preflight_free_mib": 1 << 40},
    }
    hosts.write_text(json.dumps({"nodes": {"hosts": own}}))
    done = cluster.run("preflight.yml", *arguments, preflight_file=str(verdicts))
    assert done.rc != 0
    rows = json.loads(verdicts.read_text())["rows"]
    wrong = {(row["check"], row["node"], row["verdict"]) for row in rows if row["todo"]}
    assert wrong == {
        *[("InfiniBand", "node1", "fail"), ("GPUs", "node3", "warn"), ("disk", "node4", "fail")]
    }


@pytest.mark.parametrize(
    ("off", "said"), [("node1", "node1 has false, node[2-4]"), ("node3", "node[1-2,4] has true")]
)
def test_a_preflight_that_is_off_on_some_nodes_is_refused(cluster, tmp_path, off, said):
    (tmp_path / "hosts.yml").write_text(json.dumps({"nodes": {"hosts": {off: {"preflight": "0"}}}}))
    arguments = ("-i inventory/local", f"-i {tmp_path}/hosts.yml")
    file = tmp_path / "verdicts.json"
    done = cluster.run("preflight.yml", *arguments, preflight_file=str(file))
    assert done.rc != 0
    assert f"preflight differs between the nodes: {said}" in failures(done)
    assert not file.exists()


def test_a_node_that_refuses_the_keys_of_others_is_told_by_its_neighbour_and_itself(
    cluster, tmp_path
):
    keys = cluster.state / "nodes/node3/sshd/authorized_keys"
    kept = keys.read_text()
    controller = (cluster.state / "ssh/id_ed25519.pub").read_text()
    keys.write_text(controller)
    try:
        done = cluster.run("preflight.yml", preflight_file=str(tmp_path / "verdicts.json"))
    finally:
        keys.write_text(kept)
    assert done.rc != 0
    rows = json.loads((tmp_path / "verdicts.json").read_text())["rows"]
    failed = {(row["check"], row["node"]): row["found"] for row in rows if row["verdict"] == "fail"}
    assert set(failed) == {("ssh to all nodes", "node2"), ("authorised keys", "node3")}
    assert failed["ssh to all nodes", "node2"].startswith("node3: ")


@pytest.mark.parametrize(
    "routes",
    [
        ["10.99.0.0/16 dev eth0"],
        ["10.99.0.0/16 dev eth0 metric 20", "10.99.0.0/16 dev eth1 metric 10"],
        ["10.99.0.0/16 dev eth0", "10.99.0.16/28 dev eth1"],
        ["default dev eth1", "10.99.0.0/24 dev eth0"],
        ["default dev eth1", "10.98.0.0/16 dev eth0", "unreachable 10.99.0.0/24 metric 5"],
    ],
)
def test_the_interface_is_the_one_that_the_kernel_takes(routes):
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare"))):
        pytest.skip("needs root for a network namespace, and ip and unshare")

    def facts(number, routes):
        done = subprocess.run(
            ["unshare", "--net", "sh", "-c", TWO_PORTS, "sh", str(number), *routes],
            env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "collections")},
            capture_output=True,
            text=True,
            check=False,
        )
        way, found = done.stdout.splitlines()[0], done.stdout.splitlines()[-1]
        asked = {"transport": "TCP/eth0", "fingerprint": {"interfaces": {"eth0": {}, "eth1": {}}}}
        return json.loads(way)[0]["dev"], {**json.loads(found), **asked}

    taken, one = facts(1, routes)
    _, other = facts(2, ["10.99.0.0/16 dev eth0"])
    (row, _) = transport_checks({"node1": one, "node2": other})
    if taken == "eth0":
        assert (row["verdict"], row["found"]) == ("pass", "TCP/eth0, 10.99.0.11")
    else:
        there = f"TCP/{taken} is there" if taken else "there is no route"
        assert row["verdict"] == "fail"
        assert row["found"] == f"TCP/eth0 expected, {there}: to node2 (10.99.0.21 on eth0)"


def test_suspects_fail_and_can_be_left_out(cluster, tmp_path):
    suspect = {"kind": "node", "subject": "node3", "what": "slow node"}
    names = [f"node{number}" for number in range(1, 5)]
    file, verdicts = tmp_path / "diagnosis.json", tmp_path / "verdicts.json"
    file.write_text(json.dumps({"ended": time.time(), "nodes": names, "suspects": [suspect]}))
    required = {"diagnosis": str(file), "preflight_file": str(verdicts)}

    assert cluster.run("preflight.yml", **required).rc != 0
    rows = json.loads(verdicts.read_text())["rows"]
    failed = [(row["check"], row["node"]) for row in rows if row["verdict"] == "fail"]
    assert failed == [("diagnosis", "node3")]

    done = cluster.run("preflight.yml", **required, exclude=str(file))
    assert done.rc == 0, failures(done)
    first, *others = json.loads(verdicts.read_text())["rows"]
    assert (first["check"], first["node"], first["verdict"]) == ("exclude", "node3", "warn")
    assert {row["node"] for row in others} == {"node1", "node2", "node4"}


def test_bench_looks_first_and_says_when_it_does_not(cluster):
    options = {**TIMED_STEPS, "topology": "1n1g", "campaign": "preflight", "preflight_gpus": 8}
    done = cluster.bench("--limit", "all", **options, preflight=True)
    assert done.rc != 0
    assert cluster.records("preflight") == {}
    verdicts = json.loads((cluster.results / "preflight/preflight.json").read_text())
    assert verdicts["counts"]["fail"] == 4
    done = cluster.bench(**options, preflight=False)
    assert done.rc == 0, failures(done)
    assert "preflight was turned off" in done.stdout.read()
