"""Rounds of bench.yml with real training: packed and alone, searched, adaptive."""

import json
from datetime import datetime

from local_nodes import events, failures


def results(cluster, campaign):
    return json.loads((cluster.results / campaign / "results.json").read_text())


def test_packed_repeats_run_at_once_and_a_sample_of_them_alone(cluster):
    runner = cluster.bench(campaign="packed", topology="2n1g", repeats=2, packing="nodes")
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
    found = results(cluster, "packed")
    assert found["interference"]["n"] == 1
    assert found["interference"]["median"] > 0
    assert found["counts"]["ok"] == 2


def test_repeats_share_a_node_on_devices_of_their_own(cluster):
    options = {"topology": "4n1g", "repeats": 2, "packing": "devices"}
    # As a user types it: a word.
    runner = cluster.bench(campaign="devices", campaign_cpu_processes="2", **options)
    assert runner.rc == 0, failures(runner)
    first, second = (
        one for one in cluster.records("devices").values() if one["kind"] == "measured"
    )
    assert first["packed_with"] == [second["log"]]
    for number, record in enumerate((first, second)):
        nodes = ("node1", "node2", "node3", "node4")
        assert record["cell"]["node_devices"] == {name: [number] for name in nodes}
        assert [one["kind"] for one in record["disturbances"]].count("other_process") == 0
    starts = sorted(one["started"] for one in (first, second))
    assert first["seconds"] > seconds_between(*starts)
    (alone,) = (one for one in cluster.records("devices").values() if one["kind"] == "alone")
    assert alone["cell"]["node_devices"] in (
        first["cell"]["node_devices"],
        second["cell"]["node_devices"],
    )
    assert results(cluster, "devices")["packing"]["beside_others"] == 2


def seconds_between(earlier, later):
    """Return the seconds between two moments in ISO 8601."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def test_the_largest_batch_is_searched_and_measured(cluster):
    runner = cluster.bench(
        campaign="largest",
        topology="1n1g",
        batch_size_per_device="max",
        cell_memory_mib=800,
        cell_sample_interval=0,
    )
    assert runner.rc == 0, failures(runner)
    (search,) = results(cluster, "largest")["searches"]
    largest = search["largest"]
    tried = {one["batch_size_per_device"]: one["ending"] for one in search["tried"]}
    assert tried[largest] == "ok"
    assert "out_of_memory" in tried.values()
    assert all((batch <= largest) == (how == "ok") for batch, how in tried.items())
    measured = [one for one in cluster.records("largest").values() if one["kind"] == "measured"]
    assert [one["cell"]["batch_size_per_device"] for one in measured] == [largest]
    again = cluster.bench(
        campaign="largest",
        topology="1n1g",
        batch_size_per_device="max",
        cell_memory_mib=800,
    )
    assert events(again, "repeat_record") == []


def test_repeats_go_on_until_the_maximum_where_the_interval_stays_wide(cluster):
    options = {"topology": "1n1g", "repeats": 2, "half_width": 0.0001, "max_repeats": 6}
    runner = cluster.bench(campaign="adaptive", **options)
    assert runner.rc == 0, failures(runner)
    assert len(cluster.records("adaptive")) == 6
    (cell,) = results(cluster, "adaptive")["cells"]
    assert cell["adaptive"]["n"] == 6
    assert "the maximum of 6 attempts is reached" in cell["adaptive"]["why"]
