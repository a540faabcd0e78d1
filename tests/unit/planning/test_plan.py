"""The plan: order, ledger, estimates, and what prevents a campaign from being continued."""

import cProfile
import json
import pstats

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import (
    plan,
    plan_changes,
    schedule,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_text import (
    duration,
    plan_text,
)
from campaign_data import benchmarks, cluster, planned

TO_TARGET = {"recipe": "time_to_train", "topology": "1n1g"}


def test_repeats_run_in_rounds_over_the_cells():
    logs = [repeat["log"] for repeat in plan.repeats(planned(repeats=2)["cells"])]
    assert logs == [
        "logs/pytorch/bz2/1n1g/r50_b2_fp32_1.log",
        "logs/pytorch/bz2/2n1g/r50_b2_fp32_1.log",
        "logs/pytorch/bz2/4n1g/r50_b2_fp32_1.log",
        "logs/pytorch/bz2/1n1g/r50_b2_fp32_2.log",
        "logs/pytorch/bz2/2n1g/r50_b2_fp32_2.log",
        "logs/pytorch/bz2/4n1g/r50_b2_fp32_2.log",
    ]


def test_only_the_leading_nodes_output_is_a_log():
    repeat = plan.repeats(planned(topology="2n1g")["cells"])[0]
    assert repeat["logs"] == {
        "node1": repeat["log"],
        "node2": "logs/pytorch/bz2/2n1g/r50_b2_fp32_1.node2.out",
    }


def test_a_log_must_say_that_it_is_its_cells():
    repeat = plan.repeats(planned(topology="4n1g", precision="amp")["cells"])[0]
    assert repeat["expect"] == {
        "batch_size_per_device": 2,
        "world_size": 4,
        "precision": "amp",
        "image_size": 32,
        "data": "synthetic",
    }


def test_cells_that_share_too_few_cores_are_marked():
    made = planned(cluster(4, machine="same"))["cells"]
    assert {cell["topology"]: cell["oversubscribed"] for cell in made} == {
        "1n1g": False,
        "2n1g": False,
        "4n1g": True,
    }
    assert not any(cell["oversubscribed"] for cell in planned(cluster(4))["cells"])


@pytest.mark.parametrize(
    ("quotas", "allowed", "too_few"),
    [((1, 2, 3, 4), 64, False), ((1, 2, 3, 4), 3, True), ((1, 1, 1, 1), 64, True)],
)
def test_containers_with_a_cpu_quota_each_have_their_own_cores(quotas, allowed, too_few):
    nodes = cluster(4, machine="same")
    for node, number in zip(nodes.values(), quotas, strict=True):
        node["fingerprint"]["cpu_quota"] = {"cgroup": number, "allowed": allowed}
    made = {cell["topology"]: cell["oversubscribed"] for cell in planned(nodes)["cells"]}
    assert made == {"1n1g": False, "2n1g": False, "4n1g": too_few}
    # More threads than its own quota has cores, whatever the others leave.
    nodes["node1"]["threads"] = 3
    assert all(cell["oversubscribed"] for cell in planned(nodes)["cells"])


@pytest.mark.parametrize(
    ("topology", "packing", "forks", "needed"),
    [
        ("2n1g", "none", 2, 0),
        ("4n1g", "none", 4, 0),
        ("4n1g", "none", 3, 4),
        ("2n1g", "nodes", 3, 4),
        ("1n1g", "devices", 4, 0),
    ],
)
def test_nodes_that_train_together_need_a_fork_each(topology, packing, forks, needed):
    nodes = cluster(4)
    cells = planned(nodes, topology=topology)["cells"]
    if not needed:
        plan.check_forks(cells, nodes, packing, forks)
        return
    with pytest.raises(ValueError, match=f"give -f {needed}, or set forks = {needed}"):
        plan.check_forks(cells, nodes, packing, forks)


def test_as_many_forks_as_the_repeats_can_occupy_are_enough():
    nodes = cluster(600)
    cells = planned(nodes, topology="2n1g", repeats=5)["cells"]
    plan.check_forks(cells, nodes, "nodes", 10)
    with pytest.raises(ValueError, match="give -f 10,"):
        plan.check_forks(cells, nodes, "nodes", 9)


def test_the_estimate_comes_from_earlier_repeats_where_there_are_some():
    repeat = plan.repeats(planned(topology="1n1g")["cells"])[0]
    assert plan.estimate(repeat, {}) == repeat["cell"]["estimate_seconds"]
    earlier = {"pytorch/bz2/1n1g/r50_b2_fp32 10+50": [9.0, 7.0, 30.0]}
    assert plan.estimate(repeat, earlier) == 9.0
    longer = {**repeat, "cell": {**repeat["cell"], "iterations": 1000}}
    assert plan.estimate(longer, earlier) == repeat["cell"]["estimate_seconds"]
    # As in a plan that was edited.
    del longer["cell"]["estimate_seconds"]
    assert plan.estimate(longer, {}) == 0


def test_the_estimate_of_the_benchmark_file_grows_with_the_length():
    def seconds(**options):
        return planned(topology="1n1g", **options)["cells"][0]["estimate_seconds"]

    assert (seconds(), seconds(warmup=0, iterations=60)) == (10, 10), "as long as the usual 10 + 50"
    assert seconds(iterations=290) == 2.5 + 7.5 * 5, "start-up once, training five times"
    recipe = {"estimate": {"1n1g": 10}, "defaults": {"cpu": {"epochs": 2}, "gpu": {}}}
    cell = {"topology": "1n1g", "device": "cpu", "epochs": 4, "warmup": 1, "iterations": None}
    assert plan.stated_seconds(cell, recipe) == 2.5 + 7.5 * 2
    assert plan.stated_seconds({**cell, "device": "gpu"}, recipe) is None, "unknown of epochs"


def test_a_campaign_that_goes_on_keeps_its_method():
    kept = planned(warmup=20, iterations=100, repeats=5)
    kept["options"] = {}
    again = plan.build(benchmarks(), parse_options({}), cluster(4), kept)
    assert plan_changes.differences(kept, again) == []
    assert "--iterations=100" in again["cells"][0]["commands"]["node1"]["argv"]
    assert again["cells"][0]["reading"]["parameters"]["warmup"] == 20
    asked = plan.build(benchmarks(), parse_options({"iterations": 7}), cluster(4), kept)
    assert (asked["cells"][0]["warmup"], asked["cells"][0]["iterations"]) == (20, 7)


def in_words(packing="none", seconds=(18.0,) * 9, **options):
    nodes = cluster(4, machine="same")
    made = planned(nodes, **options)
    timed = [
        {**repeat, "kind": "measured", "seconds": one}
        for repeat, one in zip(plan.repeats(made["cells"]), seconds)
    ]
    ready = schedule.build_waves(timed, packing, benchmarks(), nodes)
    return plan_text(
        {
            **made,
            "campaign": "c",
            "repeats": len(timed),
            "missing": len(timed),
            "not_run": [],
            "packing": packing,
            "waves": ready,
            "seconds": sum(wave["seconds"] for wave in ready),
            "lower_bound": 9.0,
            "measured": 0,
        }
    )


def test_the_plan_in_words_has_order_time_and_whole_commands():
    text = in_words(topology="2n1g", repeats=1)
    assert "Campaign c: 1 cell(s), 1 repeat(s), 1 to run in about 18 s" in text
    assert "pytorch/bz2/2n1g/r50_b2_fp32_1.log" in text
    assert "  node[1-2]: " in text
    assert "--node-rank=[0-1] " in text
    assert "OMP_NUM_THREADS=1" in text
    assert "Packed" not in text


def test_the_plan_in_words_says_which_times_are_unknown():
    text = in_words(topology="2n1g", repeats=2, seconds=(0, 0))
    assert "2 repeat(s), 2 to run in an unknown time\n(0 of 2 times are from earlier" in text
    assert "campaigns, 0 from the benchmark file, 2 unknown)" in text
    text = in_words(topology="2n1g", repeats=2, seconds=(18, 0))
    assert "2 to run in more than 18 s\n" in text
    assert "earlier campaigns, 1 from the benchmark file, 1 unknown)" in text


def test_the_plan_in_words_has_the_waves_and_what_bounds_them():
    text = in_words("nodes", topology="2n1g", repeats=2)
    assert "Packed into 1 waves: 18 s; no order of these repeats takes less than 9 s" in text
    assert "_2.log                        18 s  on node[3-4], shares a machine" in text


def test_a_cell_that_cannot_run_on_its_nodes_says_why():
    nodes = cluster(2)
    nodes["node2"]["unusable"] = {"pytorch": "there is no such file"}
    marked = plan.with_unavailable(planned(cluster(2))["cells"], nodes)
    assert [cell.get("unavailable") for cell in marked] == [None, "node2: there is no such file"]
    assert [cell.get("excused") for cell in marked] == [None, False]
    nodes["node2"]["unusable"]["pytorch"] = "needs Python 3.11 (looked at python3.11: not there)"
    marked = plan.with_unavailable(planned(cluster(2))["cells"], nodes)
    assert [cell.get("excused") for cell in marked] == [None, True]
    nodes["node2"]["lost"] = "lost at noon"
    marked = plan.with_unavailable(planned(cluster(2))["cells"], nodes)
    assert marked[1]["unavailable"].startswith("node2: lost at noon; node2: needs Python 3.11")
    assert [cell.get("excused") for cell in marked] == [None, False]


def test_cells_without_their_data_are_unavailable_beside_others():
    nodes = cluster(1)
    nodes["node1"]["data_dir"] = ""
    nodes["node1"]["pythons"]["tensorflow"] = "/tf/python"
    options = parse_options({"benchmark": "pytorch,tensorflow_time2train", "topology": "1n1g"})
    made = plan.with_unavailable(plan.build(benchmarks(), options, nodes)["cells"], nodes)
    assert "unavailable" not in made[0]
    assert made[1]["excused"]
    assert made[1]["unavailable"].startswith("no data set is known on node1: make the small one")


def test_real_data_needs_a_folder():
    nodes = cluster(2)
    nodes["node2"]["data_dir"] = ""
    with pytest.raises(ValueError, match="no data set is known on node2"):
        planned(nodes, data="real", topology="2n1g")


def test_a_training_to_a_target_needs_images_to_learn():
    given = benchmarks()
    given["pytorch"]["recipes"]["time_to_train"]["choices"]["data"].append("synthetic")
    options = parse_options({**TO_TARGET, "data": "synthetic"})
    with pytest.raises(ValueError, match="it needs -e data=real"):
        plan.build(given, options, cluster(1))


def test_a_training_to_a_target_has_epochs_instead_of_iterations():
    (cell,) = planned(cluster(1), **TO_TARGET, epochs=5, target_accuracy=40)["cells"]
    assert (cell["epochs"], cell["target_accuracy"], cell["iterations"]) == (5, 40.0, None)
    assert "train_and_evaluate" in cell["directory"]
    assert {"--epochs=5", "--target-accuracy=40.0"} < set(cell["commands"]["node1"]["argv"])
    assert not any("--iterations" in word for word in cell["commands"]["node1"]["argv"])
    assert plan.expected_identity(cell)["target_accuracy"] == 40.0
    assert "5 epochs" in plan.timing_key(cell)


def test_durations_are_a_persons_words():
    assert [duration(seconds) for seconds in (0.4, 59, 61, 3599.7, 7500)] == [
        "0 s",
        "59 s",
        "1 min 01 s",
        "1 h 00 min",
        "2 h 05 min",
    ]


def planned_with_calls(count, benchmark, recipe):
    """Return how many calls a plan of ``count`` nodes takes, and its size in bytes."""
    nodes = cluster(count, gpus=8)
    for node in nodes.values():
        node["pythons"] = dict.fromkeys(("pytorch", "tensorflow", "mxnet"), "/venv/bin/python")
    options = parse_options(
        {"benchmark": benchmark, "recipe": recipe, "topology": f"{count}n8g", "precision": "fp32"}
    )
    profile = cProfile.Profile()
    planned = profile.runcall(plan.build, benchmarks(), options, nodes)
    return pstats.Stats(profile).total_calls, len(json.dumps(planned))


# With torchrun, the key-value store and mpirun, where the leading node starts the ranks of all.
@pytest.mark.parametrize(
    ("benchmark", "recipe"),
    [("pytorch", "portable"), ("mxnet_ngc", "portable"), ("tensorflow_ngc", "upstream")],
)
def test_a_plan_grows_with_the_nodes_and_not_with_their_square(benchmark, recipe):
    calls, size = planned_with_calls(16, benchmark, recipe)
    more_calls, larger = planned_with_calls(64, benchmark, recipe)
    assert more_calls < 4.5 * calls
    assert larger < 4.5 * size
