"""Rounds of bench.yml with a stand-in for the trainer: packing, batch size search, repeats.

That each rank gets its node, device and memory limit is the launcher's and the supervisor's work,
which are the real ones; the packed repeats of tests/faults train for real.
"""

import json
from datetime import datetime

import pytest
from local_nodes import TIMED_STEPS, events, failures


@pytest.fixture
def bench(cluster):
    """Return a function that runs bench.yml with the stand-in whose steps are slept."""
    given = {**TIMED_STEPS, "batch_size_per_device": 1}
    return lambda *arguments, **more: cluster.bench(*arguments, **{**given, **more})


def results(cluster, campaign):
    return json.loads((cluster.results / campaign / "results.json").read_text())


def test_packed_repeats_run_at_once_and_a_sample_of_them_alone(bench, cluster):
    options = {"topology": "2n1g", "repeats": 2, "packing": "nodes"}
    runner = bench("--limit", "all", campaign="packed", **options)
    assert runner.rc == 0, failures(runner)
    assert len(events(runner, "repeat_record")) == 2
    records = cluster.records("packed")
    first, second = (record for record in records.values() if record["kind"] == "measured")
    assert first["packed_with"] == [second["log"]]
    seats = first["cell"]["node_names"] + second["cell"]["node_names"]
    assert seats == ["node1", "node2", "node3", "node4"]
    assert first["shares_machine"]
    (alone,) = (record for record in records.values() if record["kind"] == "alone")
    assert (alone["ending"], alone["packed_with"]) == ("ok", [])
    packed = results(cluster, "packed")
    assert packed["interference"]["n"] == 1
    assert packed["interference"]["median"] > 0
    assert packed["counts"]["ok"] == 2


def test_repeats_share_a_node_on_devices_of_their_own(bench, cluster):
    # Steps of 5 ms for 6 s: the starts are recorded in seconds, and apart on a busy machine.
    options = {"topology": "4n1g", "repeats": 2, "packing": "devices", "iterations": 1200}
    # As a user types it: a text, not a number.
    runner = bench(campaign="devices", campaign_cpu_processes="2", **options)
    assert runner.rc == 0, failures(runner)
    first, second = (
        record for record in cluster.records("devices").values() if record["kind"] == "measured"
    )
    assert first["packed_with"] == [second["log"]]
    for number, record in enumerate((first, second)):
        nodes = ("node1", "node2", "node3", "node4")
        assert record["cell"]["node_devices"] == {name: [number] for name in nodes}
        kinds = [disturbance["kind"] for disturbance in record["disturbances"]]
        assert kinds.count("other_process") == 0
    starts = sorted(record["started"] for record in (first, second))
    assert first["seconds"] > seconds_between(*starts)
    (alone,) = (r for r in cluster.records("devices").values() if r["kind"] == "alone")
    assert alone["cell"]["node_devices"] in (
        first["cell"]["node_devices"],
        second["cell"]["node_devices"],
    )
    assert results(cluster, "devices")["packing"]["beside_others"] == 2


def seconds_between(earlier, later):
    """Return the seconds between two ISO 8601 times."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def test_the_largest_batch_is_searched_and_measured(bench, cluster):
    options = {"topology": "1n1g", "batch_size_per_device": "max", "cell_memory_mib": 20}
    runner = bench(campaign="largest", cell_sample_interval=0, **options)
    assert runner.rc == 0, failures(runner)
    (search,) = results(cluster, "largest")["searches"]
    largest = search["largest"]
    tried = {probe["batch_size_per_device"]: probe["ending"] for probe in search["tried"]}
    assert tried[largest] == "ok"
    assert "out_of_memory" in tried.values()
    assert all((batch <= largest) == (ending == "ok") for batch, ending in tried.items())
    measured = [r for r in cluster.records("largest").values() if r["kind"] == "measured"]
    assert [record["cell"]["batch_size_per_device"] for record in measured] == [largest]
    again = bench(campaign="largest", **options)
    assert events(again, "repeat_record") == []


def test_repeats_go_on_until_the_maximum_where_the_interval_stays_wide(bench, cluster):
    options = {"topology": "1n1g", "repeats": 2, "half_width": 0.0001, "max_repeats": 6}
    runner = bench(campaign="adaptive", **options)
    assert runner.rc == 0, failures(runner)
    assert len(cluster.records("adaptive")) == 6
    (cell,) = results(cluster, "adaptive")["cells"]
    assert cell["adaptive"]["n"] == 6
    assert "the maximum of 6 attempts is reached" in cell["adaptive"]["why"]
