"""The decoder on local nodes: real training with ddp and FSDP2, and learning of a real text."""

import json
import re
import statistics

import pytest
from local_nodes import SMALL, failures
from trainers import facts

LOSS = re.compile(r"^iteration \d+ .*?loss ([0-9.]+)", re.MULTILINE)
TOPOLOGIES = ("1n1g", "2n1g")


def losses(cluster, campaign):
    """Return the losses of every log of a campaign, by its cell."""
    folder = cluster.results / campaign / "logs/llama"
    return {
        (log.parts[-3], log.parent.name): [float(loss) for loss in LOSS.findall(log.read_text())]
        for log in folder.glob("*/*/*.log")
    }


@pytest.fixture(scope="module")
def measured(cluster):
    """Train the same global batch on 1 and 2 nodes, with ddp and fsdp; return the results."""
    runner = cluster.run(
        "bench.yml",
        campaign="decoder",
        benchmark="llama",
        sharding="ddp,fsdp",
        topology=",".join(TOPOLOGIES),
        scaling="strong",
        global_batch_size=4,
        sequence_length=32,
        **{name: SMALL[name] for name in ("warmup", "iterations", "repeats")},
        preflight=False,
    )
    assert runner.rc == 0, failures(runner)
    return json.loads((cluster.results / "decoder/results.json").read_text())


def test_the_loss_is_the_same_on_any_number_of_nodes_sharded_or_not(cluster, measured):
    of_cells = losses(cluster, "decoder")
    assert len(of_cells) == 4
    first, *others = of_cells.values()
    assert len({*first}) == 4
    for other in others:
        assert other == pytest.approx(first, abs=2e-4)


def test_every_rank_trains_its_share_of_the_global_batch(cluster, measured):
    for cell in measured["cells"]:
        (repeat,) = cell["repeats"]
        stated = facts((cluster.results / "decoder" / repeat["log"]).read_text(), "header")
        share = 4 // cell["nodes"]
        assert (stated["global_batch_size"], stated["batch_size_per_device"]) == (4, share)


def test_the_results_are_in_tokens_with_the_figures_of_the_trainer(measured):
    cells = {
        (cell["own_factors"]["sharding"], cell["topology"]): cell for cell in measured["cells"]
    }
    assert {*cells} == {(way, topology) for way in ("ddp", "fsdp") for topology in TOPOLOGIES}
    for cell in cells.values():
        (repeat,) = cell["repeats"]
        assert (repeat["ending"], repeat["unit"]) == ("ok", "tokens/s")
        figures = repeat["figures"]
        assert figures["peak_flops_per_second"] > 1e9
        assert 0 < figures["mfu"]["nvidia"] < figures["mfu"]["torchtitan"] < 2
        assert figures["first_step"]["launch"] > 0
        # Of sharded weights there is no exchange that all reach once a step.
        told = cell["own_factors"]["sharding"] == "ddp" or cell["nodes"] == 1
        names = [f"node{number + 1}" for number in range(cell["nodes"] if told else 0)]
        waits = repeat.get("waits", [])
        assert [rank["node"] for rank in waits] == names
        assert all(rank["core_wait_seconds"] >= 0 for rank in waits)
        assert all(bool(rank["wait_seconds"]) is (cell["nodes"] > 1) for rank in waits)


def test_the_loss_of_real_text_falls_below_that_of_the_bytes_frequencies(cluster):
    runner = cluster.bench(
        campaign="text",
        benchmark="llama",
        text=True,
        topology="1n1g",
        batch_size_per_device=4,
        sequence_length=32,
        iterations=129,
    )
    assert runner.rc == 0, failures(runner)
    (log,) = (cluster.results / "text").glob("logs/**/*.log")
    entropy = float(re.search(r'"text_entropy":([0-9.]+)', log.read_text()).group(1))
    (values,) = losses(cluster, "text").values()
    assert 3 < entropy < 4 < values[0]
    assert statistics.fmean(values[-20:]) < entropy - 0.1
