"""The small data set of provision.yml, and bench.yml that trains on it to a target accuracy."""

import json
import shutil

import pytest
from local_nodes import events, failures

# A few seconds of training; the accuracy does not matter.
TINY = {"dataset": "small", "dataset_images": {"train": 4, "val": 2}}
SHORT = {"epochs": 2, "batch_size_per_device": 8, "warmup": 2, "topology": "2n1g"}


def test_the_small_set_is_made_once_and_trained_to_a_target(cluster):
    only = ("--tags", "workload,dataset")
    made = cluster.run("provision.yml", *only, **TINY)
    assert made.rc == 0, failures(made)
    (seen,) = {
        json.dumps(result["forms"], sort_keys=True) for result in events(made, "dataset_info")
    }
    assert {form["state"] for form in json.loads(seen).values()} == {"complete"}

    again = cluster.run("provision.yml", *only, **TINY)
    assert again.rc == 0, failures(again)
    assert not any(
        event["event_data"]["res"].get("changed")
        for event in again.events
        if event["event"] == "runner_on_ok"
    )

    # The target cannot be reached in four iterations; missing it is a result, not a failure.
    missed = cluster.bench(
        campaign="to-target", recipe="time_to_train", target_accuracy=100, **SHORT
    )
    assert missed.rc == 0, failures(missed)
    folder = cluster.results / "to-target"
    (path,) = folder.glob("logs/pytorch/bz8-real-train_and_evaluate-time_to_train/2n1g/*.log")
    assert path.read_text().count("eval_accuracy:") == 2
    (cell,) = json.loads((folder / "results.json").read_text())["cells"]
    training = cell["repeats"][0]["time_to_train"]
    assert (cell["iterations"], cell["epochs"], training["epochs"]) == (None, 2, 2)
    assert training["time_to_target"] is None
    assert training["total_time"] > 0
    # 4 images of each of 8 classes make 2 batches of 16 per epoch.
    assert training["end_to_end_throughput"] * training["total_time"] == pytest.approx(2 * 32)
    assert "100 % top-1 was not reached" in (folder / "report.md").read_text()

    shard = cluster.state / "datasets/small/tfrecord/train-00000-of-00008"
    shard.write_bytes(shard.read_bytes()[:-1])
    broken = cluster.run("provision.yml", *only, **TINY)
    assert broken.rc != 0
    assert "train-00000-of-00008: record 3 at byte" in failures(broken)
    # Other tests expect no data set on these nodes.
    shutil.rmtree(cluster.state / "datasets")
