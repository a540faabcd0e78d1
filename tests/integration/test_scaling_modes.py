"""Weak and strong scaling in one campaign: each speed-up over its own base.

A trainer only gets its batch size; real ones get that of strong scaling in test_llama.py.
"""

import json

import pytest
from local_nodes import TIMED_STEPS, failures

BOTH = {"scaling": "weak,strong", "global_batch_size": 4, "batch_size_per_device": 2}


@pytest.fixture(scope="module")
def measured(cluster):
    """Measure both modes; of strong scaling 3n1g cannot run. Return its results and folder."""
    options = {**BOTH, "topology": "1n1g,2n1g,3n1g", "campaign": "modes", "report_plots": True}
    runner = cluster.bench(**TIMED_STEPS, **options)
    assert runner.rc == 0, failures(runner)
    folder = cluster.results / "modes"
    return json.loads((folder / "results.json").read_text()), folder


def cells(results, scaling):
    return {c["topology"]: c for c in results["cells"] if c["scaling"] == scaling}


def test_every_rank_trains_its_share_of_the_global_batch(measured):
    _, folder = measured
    for topology, batch in (("1n1g", 4), ("2n1g", 2)):
        log = folder / f"logs/timed_steps/gb4-strong/{topology}/timed_b{batch}_fp32_1.log"
        (header,) = [line for line in log.read_text().splitlines() if "[scalebench] header" in line]
        stated = json.loads(header.split(" header ", 1)[1])
        assert (stated["global_batch_size"], stated["batch_size_per_device"]) == (4, batch)


def test_what_does_not_divide_is_a_result_and_no_failure(measured):
    results, _ = measured
    cell = cells(results, "strong")["3n1g"]
    assert cell["state"] == "unavailable"
    assert "4 does not divide over 3 devices" in cell["unavailable"][0]["reason"]
    assert results["failures"] == []
    assert cells(results, "weak")["3n1g"]["state"] == "measured"


def test_speedups_are_those_of_the_mode_by_hand(measured):
    results, _ = measured
    for scaling in ("weak", "strong"):
        one, two = (cells(results, scaling)[topology] for topology in ("1n1g", "2n1g"))
        assert two["speedup"] == pytest.approx(two["median_speed"] / one["median_speed"], abs=0.006)
    (group,) = results["strong_scaling"]["groups"]
    one, two = group["cells"]
    assert one["ideal_step_seconds"] == one["step_seconds"]
    assert two["ideal_step_seconds"] == one["step_seconds"] / 2


def test_the_report_says_which_and_draws_the_time_of_a_step(measured):
    _, folder = measured
    text = (folder / "report.md").read_text()
    assert "gb4-strong: timed, global batch size 4, strong scaling" in text
    assert "## Strong scaling" in text
    assert "ideal: 1/devices" in (folder / "step_time.svg").read_text()


def test_its_logs_are_read_again_without_the_plan(cluster, measured):
    results, folder = measured
    rule = {"strategy": "mean_after_warmup", "report_parameters": {"warmup": 1, "iterations": 3}}
    again = cluster.results / "again"
    runner = cluster.run("report.yml", log_dir=str(folder / "logs"), output_dir=str(again), **rule)
    assert runner.rc == 0, failures(runner)
    read = cells(json.loads((again / "results.json").read_text()), "strong")
    strong = cells(results, "strong")
    assert {*read} == {"1n1g", "2n1g"}
    for topology, cell in read.items():
        for key in ("global_batch_size", "batch_size_per_device", "median_speed", "speedup"):
            assert cell[key] == strong[topology][key]
