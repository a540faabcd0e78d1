"""BERT on local nodes, from the options to results in sequences/s."""

import json
import re
import statistics

import pytest
from local_nodes import failures, places_of_ranks

LINE = re.compile(r"^iteration (\d+) .*throughput ([0-9.]+) sequences/s", re.MULTILINE)
LOG = "logs/bert/bz2-s32-shardingfsdp/{}/bert_b2_fp32_1.log"


@pytest.fixture(scope="module")
def campaign(cluster):
    """Train on one and on two nodes with sharded weights; return the campaign's folder."""
    measured = cluster.bench(
        benchmark="bert",
        topology=["1n1g", "2n1g"],
        sequence_length=32,
        sharding="fsdp",
        campaign="bert",
    )
    assert measured.rc == 0, failures(measured)
    return cluster.results / "bert"


def test_the_figures_are_those_of_the_logs_by_hand(campaign):
    results = json.loads((campaign / "results.json").read_text())
    assert len(results["cells"]) == 2
    for cell in results["cells"]:
        log = (campaign / LOG.format(cell["topology"])).read_text()
        printed = [float(speed) for step, speed in LINE.findall(log) if int(step) > 1]
        assert len(printed) == 3
        assert cell["median_speed"] == round(statistics.fmean(printed) * 100) / 100
        assert cell["unit"] == "sequences/s"
        assert cell["own_factors"]["sequence_length"] == 32
        assert cell["own_factors"]["sharding"] == "fsdp"


def test_both_nodes_trained_the_same_weights(campaign):
    log = (campaign / LOG.format("2n1g")).read_text()
    assert places_of_ranks(log) == [(0, "node1"), (1, "node2")]
    assert '"weights_equal":true' in log


def test_the_record_has_the_model_and_its_figures(cluster, campaign):
    records = cluster.records("bert").values()
    assert [record["ending"] for record in records] == ["ok", "ok"]
    for record in records:
        facts = record["facts"]
        assert facts["identity"]["architecture"]["parameters"] == 4433468
        figures = facts["summary"]["figures"]
        assert set(figures["mfu"]) == {"stated"}
        done = figures["mfu"]["stated"] * figures["peak_flops_per_second"] * record["cell"]["nodes"]
        assert figures["flops_per_second"] == pytest.approx(done, rel=1e-3)
