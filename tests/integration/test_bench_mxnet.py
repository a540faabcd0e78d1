"""MXNet with its key-value store on local nodes, from provisioning to the report."""

import json
import re
import statistics

import pytest
from local_nodes import failures, places_of_ranks

SPEED = re.compile(r"Batch \[(\d+)-\1\]\tSpeed: ([0-9.]+) samples/sec")
LOG = "logs/mxnet_ngc/bz2/{}/r50_b2_fp32_1.log"


@pytest.fixture(scope="module")
def campaign(cluster):
    """Install MXNet, run a small campaign and return its folder."""
    provisioned = cluster.run("provision.yml", benchmark="mxnet_ngc")
    assert provisioned.rc == 0, failures(provisioned)
    measured = cluster.bench(
        benchmark="mxnet_ngc",
        topology=["1n1g", "2n1g"],
        campaign="mxnet",
    )
    assert measured.rc == 0, failures(measured)
    return cluster.results / "mxnet"


def test_the_figures_are_those_of_the_logs_by_hand(campaign):
    results = json.loads((campaign / "results.json").read_text())
    facts = results["facts"]["mxnet_ngc"]["fp32"]["bz2"]["r50"]
    for topology in ("1n1g", "2n1g"):
        log = (campaign / LOG.format(topology)).read_text()
        printed = [float(speed) for batch, speed in SPEED.findall(log) if int(batch) >= 1]
        assert len(printed) == 3
        assert facts[topology]["median_speed"] == round(statistics.fmean(printed) * 100) / 100


def test_the_first_rank_of_the_leading_node_prints_for_all(campaign):
    log = (campaign / LOG.format("2n1g")).read_text()
    assert places_of_ranks(log) == [(0, "node1"), (1, "node2")]
    assert '"backend":"dist_sync"' in log
    assert '"weights_equal":true' in log


def test_the_log_was_read_as_speedometers(cluster, campaign):
    records = cluster.records("mxnet").values()
    assert {record["facts"]["reader"] for record in records} == {"mxnet_speedometer"}
    assert {record["ending"] for record in records} == {"ok"}
    identities = [record["facts"]["identity"] for record in records]
    assert {identity["framework"] for identity in identities} == {"mxnet"}
    assert sorted(identity["ranks_seen"] for identity in identities) == [1, 2]
