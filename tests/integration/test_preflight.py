"""playbooks/preflight.yml over the local nodes, and as the first step of bench.yml."""

import json
import time

from local_nodes import TIMED_STEPS, failures


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
    done = cluster.bench(**options)
    assert done.rc != 0
    assert cluster.records("preflight") == {}
    verdicts = json.loads((cluster.results / "preflight/preflight.json").read_text())
    assert verdicts["counts"]["fail"] == 4
    done = cluster.bench(**options, preflight=False)
    assert done.rc == 0, failures(done)
    assert "preflight was turned off" in done.stdout.read()
