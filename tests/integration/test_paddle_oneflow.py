"""PaddlePaddle and OneFlow: installed by provision.yml, run by bench.yml, ended with it."""

import os
import signal

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.logs import read
from local_nodes import ROOT, failures, interrupt, places_of_ranks, wait_until

SHORT = {"warmup": 1, "iterations": 3, "topology": "1n1g,2n1g"}


@pytest.fixture(scope="module")
def paddle(cluster):
    """Install Paddle into the environment shared by all tests."""
    provisioned = cluster.run("provision.yml", "--tags", "framework", benchmark="paddle")
    assert provisioned.rc == 0, failures(provisioned)
    return ROOT / ".state/venvs/paddle"


def test_paddle_trains_over_nodes_and_oneflow_without_a_python_stops_nothing(
    cluster, paddle, tmp_path
):
    (tmp_path / "paddle").symlink_to(paddle)
    own = {"benchmark": "paddle,oneflow", "framework_dir": str(tmp_path)}
    cluster.provision_without_python("oneflow", **own)
    done = cluster.bench(**own, **SHORT, campaign="paddle")
    records = cluster.records("paddle")
    endings = {log.split("/", 1)[1]: record["ending"] for log, record in records.items()}
    assert endings == {
        "oneflow/bz2/1n1g/r50_b2_fp32_1.log": "unavailable",
        "oneflow/bz2/2n1g/r50_b2_fp32_1.log": "unavailable",
        "paddle/bz2/1n1g/r50_b2_fp32_1.log": "ok",
        "paddle/bz2/2n1g/r50_b2_fp32_1.log": "ok",
    }, failures(done)
    reasons = {record["reason"] for record in records.values() if record["ending"] != "ok"}
    assert all("needs Python 9.9 (looked at python9.9 on the PATH" in text for text in reasons)

    text = (cluster.results / "paddle/logs/paddle/bz2/2n1g/r50_b2_fp32_1.log").read_text()
    assert places_of_ranks(text) == [(0, "node1"), (1, "node2")]
    reading = read(text)
    assert (reading["reader"], len(reading["observations"])) == ("paddle_fluid", 4)
    assert reading["summary"]["weights_equal"] is True
    waits = reading["summary"]["waits"]
    assert [one["node"] for one in waits] == ["node1", "node2"]
    for one in waits:
        assert len(one["wait_seconds"]) == 4
        assert 0 < sorted(one["wait_seconds"])[2] < one["step_seconds"]
        assert 0 < one["input_seconds"] < one["step_seconds"]


def test_a_package_in_no_index_makes_its_cells_unavailable(cluster, tmp_path):
    """Real pip, which is told to look into an empty folder only."""
    own = {"benchmark": "oneflow", "framework_dir": str(tmp_path / "venvs")}
    needed = {
        **{"python": ["3.11", "3.12", "3.13"], "packages": ["oneflow==0.1.8"], "import": "x"},
        "unpublished": True,
    }
    for _ in range(2):  # the environment is there the second time
        provisioned = cluster.run(
            "provision.yml", "--tags", "framework", **own,
            framework_names=["oneflow"], __framework_set=needed,
            framework_pip_arguments=f"--no-index --find-links {tmp_path}",
        )  # fmt: skip
        assert provisioned.rc == 0, failures(provisioned)
    assert not (tmp_path / "venvs/oneflow/filled").exists()
    done = cluster.bench(**own, **SHORT, campaign="no-index")
    records = cluster.records("no-index").values()
    assert {record["ending"] for record in records} == {"unavailable"}, failures(done)
    reasons = {record["reason"] for record in records}
    assert all("no package index has oneflow==0.1.8: Could not find" in why for why in reasons)


def test_what_its_launcher_writes_lies_in_the_folder_of_the_repeat(cluster, paddle):
    folder = cluster.state / "nodes/node2/runs/paddle/paddle/bz2/2n1g/r50_b2_fp32_1.files"
    assert (folder / "log/workerlog.0").exists()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_nothing_of_paddle_is_left_of_an_interrupted_campaign(cluster, paddle):
    playbook = cluster.start_bench(
        "paddle-ended", benchmark="paddle", topology="2n1g", iterations=500
    )
    wait_until(lambda: sum("train_paddle.py" in line for line in cluster.running()) >= 4)
    ranks = [
        process.pid
        for process in cluster.processes()
        if "train_paddle.py" in process.command and "launch" not in process.command
    ]
    os.kill(ranks[0], signal.SIGKILL)  # one rank dies, the launchers survive
    interrupt(playbook, signal.SIGINT)
    wait_until(lambda: cluster.running() == [], 30)


def test_oneflow_trains_over_nodes_where_it_is_installed(cluster):
    if not (ROOT / ".state/venvs/oneflow/bin/python").exists():
        pytest.skip("no OneFlow (827 MB): run playbooks/provision.yml -e benchmark=oneflow")
    done = cluster.bench(benchmark="oneflow", **SHORT, campaign="oneflow")
    assert done.rc == 0, failures(done)
    text = (cluster.results / "oneflow/logs/oneflow/bz2/2n1g/r50_b2_fp32_1.log").read_text()
    assert places_of_ranks(text) == [(0, "node1"), (1, "node2")]
    assert read(text)["reader"] == "oneflow"
    assert read(text)["summary"]["weights_equal"] is True
