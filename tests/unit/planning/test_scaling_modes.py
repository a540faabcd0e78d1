"""Weak and strong scaling as factors of a plan: batch sizes, paths, what cannot run, refusals."""

from collections import defaultdict

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.facts.lognames import parse_log_path
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.placeholders import (
    values_for,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_changes import (
    differences,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_text import plan_text
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import matching
from ansible_collections.scalebench.core.plugins.module_utils.running.search import skipped
from campaign_data import benchmarks, cluster, planned

BOTH = {"scaling": "weak,strong", "global_batch_size": 32, "batch_size_per_device": 4}


def strong(topology, size=32, **options):
    return planned(scaling="strong", global_batch_size=size, topology=topology, **options)["cells"]


def test_the_batch_per_device_is_the_global_one_over_the_devices():
    made = strong("1n1g,2n1g,4n1g", "32,64")
    assert [
        (cell["global_batch_size"], cell["topology"], cell["batch_size_per_device"])
        for cell in made
    ] == [
        *((32, "1n1g", 32), (32, "2n1g", 16), (32, "4n1g", 8)),
        *((64, "1n1g", 64), (64, "2n1g", 32), (64, "4n1g", 16)),
    ]
    assert {cell["scaling"] for cell in made} == {"strong"}
    assert all("--batch-size=16" in str(made[1]["commands"][node]) for node in ("node1", "node2"))


def test_topologies_of_one_global_batch_are_one_group_of_logs():
    made = strong("1n1g,2n1g", precision="fp32,amp", xla="false")
    assert [(cell["directory"], cell["name"]) for cell in made] == [
        ("pytorch/gb32-strong/1n1g", "r50_b32_fp32"),
        ("pytorch/gb32-strong/2n1g", "r50_b16_fp32"),
        ("pytorch/gb32-strong/1n1g", "r50_b32_amp"),
        ("pytorch/gb32-strong/2n1g", "r50_b16_amp"),
    ]


def test_weak_scaling_is_as_before_and_the_default():
    usual, asked = planned(), planned(scaling="weak")
    assert usual["cells"] == asked["cells"]
    assert {cell["variant"] for cell in usual["cells"]} == {"bz2"}
    assert {cell["global_batch_size"] for cell in usual["cells"]} == {None}


def test_both_modes_in_one_campaign():
    made = planned(**BOTH, topology="1n1g,2n1g")["cells"]
    assert [(cell["scaling"], cell["variant"], cell["name"]) for cell in made] == [
        ("weak", "bz4", "r50_b4_fp32"),
        ("weak", "bz4", "r50_b4_fp32"),
        ("strong", "gb32-strong", "r50_b32_fp32"),
        ("strong", "gb32-strong", "r50_b16_fp32"),
    ]


def test_several_weak_batch_sizes_do_not_multiply_the_strong_cells():
    made = planned(
        **{**BOTH, "batch_size_per_device": "4,8", "global_batch_size": "32,64"}, topology="1n1g"
    )["cells"]
    assert sorted(cell["variant"] for cell in made) == ["bz4", "bz8", "gb32-strong", "gb64-strong"]


@pytest.mark.parametrize(
    "name", sorted(name for name, one in benchmarks().items() if "no_speedup" not in one)
)
@pytest.mark.parametrize("gpus", [0, 8])
def test_every_benchmark_with_a_speedup_has_both_modes(name, gpus):
    nodes = cluster(4, gpus=gpus, pythons=defaultdict(lambda: "/python"))
    known = {name: benchmarks()[name]}
    for recipe in known[name]["recipes"]:
        if ("gpu" if gpus else "cpu") not in known[name]["recipes"][recipe]["defaults"]:
            continue
        data = known[name]["recipes"][recipe]["choices"].get("data", ["synthetic"])[-1]
        made = planned(
            nodes,
            known,
            **{"benchmark": name, "recipe": recipe, "data": data, "topology": "1n1g,2n1g"},
            **{"scaling": "strong", "global_batch_size": 64},
        )
        assert {(c["topology"], c["batch_size_per_device"]) for c in made["cells"]} == {
            ("1n1g", 64),
            ("2n1g", 32),
        }


def test_what_has_no_speedup_runs_once_beside_both_modes():
    several = {**BOTH, "batch_size_per_device": "16,8", "benchmark": "pytorch,all_reduce"}
    beside, alone = planned(**several), planned(benchmark="all_reduce")
    ours = [cell for cell in beside["cells"] if cell["benchmark"] == "all_reduce"]
    assert [(cell["directory"], cell["name"]) for cell in ours] == [
        (cell["directory"], cell["name"]) for cell in alone["cells"]
    ]
    known = benchmarks()
    known["pytorch"]["no_speedup"] = "why"
    told = {**BOTH, "batch_size_per_device": "16,8", "benchmark": "pytorch"}
    variants = {cell["variant"] for cell in planned(known=known, **told)["cells"]}
    assert variants == {"bz16", "bz8"}


def test_a_topology_that_does_not_divide_is_unavailable_and_no_failure():
    known = strong("1n1g,3n1g")
    cells = {cell["topology"]: cell for cell in plan.with_unavailable(known, cluster(4))}
    assert "unavailable" not in cells["1n1g"]
    assert cells["3n1g"]["unavailable"] == (
        "the global batch size 32 does not divide over 3 devices"
    )
    assert cells["3n1g"]["excused"] is True


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"scaling": "strong"}, "give the batch of all devices, -e global_batch_size="),
        ({"global_batch_size": 32}, "-e global_batch_size=32: weak scaling has a fixed batch per"),
        (
            {"scaling": "strong", "global_batch_size": 32, "batch_size_per_device": 4},
            "-e batch_size_per_device: with scaling=strong it follows from global_batch_size",
        ),
        (
            {"scaling": "strong", "global_batch_size": "32,7", "topology": "2n1g,4n1g"},
            "-e global_batch_size=7: it divides over none of the topologies, which have 2, 4",
        ),
        ({"scaling": "super"}, "is not a mode of scaling: the choices are weak, strong"),
        ({"scaling": "strong", "global_batch_size": "max"}, "'max' is not a whole number"),
    ],
)
def test_what_no_mode_takes_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        planned(**options)


def test_a_benchmark_can_have_strong_scaling_by_default():
    known = benchmarks()
    defaults = known["pytorch"]["recipes"]["portable"]["defaults"]["cpu"]
    defaults.update(scaling=["strong"], global_batch_size=[16])
    made = planned(known={"pytorch": known["pytorch"]}, topology="2n1g")["cells"]
    assert [(cell["variant"], cell["batch_size_per_device"]) for cell in made] == [
        ("gb16-strong", 8)
    ]


def test_a_condition_and_a_word_in_braces_name_the_mode():
    (cell,) = strong("2n1g")
    nodes = cluster(4)
    more = {"python": "", "rank_port": 1, "gpu_indices": "", "workers": 1, "node_addresses": ""}
    values = values_for(cell, nodes, "node1", {}, more)
    assert (values["scaling"], values["global_batch_size"]) == ("strong", 32)
    entry = {"when": {"scaling": "strong"}}
    assert matching([entry], cell) == [entry]
    assert matching([entry], planned(topology="2n1g")["cells"][0]) == []


def test_the_plan_in_words_says_which_mode():
    made = planned(**BOTH, topology="2n1g", repeats=1)
    shown = {**made, "campaign": "mine", "repeats": 2, "missing": 2, "measured": 0, "seconds": 0}
    text = plan_text({**shown, "packing": "none", "lower_bound": 0, "not_run": [], "waves": []})
    assert "2n1g/r50_b4_fp32: 1 repeat(s) of weak scaling, batch size 4 per device\n" in text
    assert (
        "2n1g/r50_b16_fp32: 1 repeat(s) of strong scaling, batch size 16 per device, global batch"
        " size 32\n"
    ) in text
    assert "(nothing is missing)" in text
    left = [{"log": "logs/a_1.log", "ending": "unavailable", "reason": "it needs a GPU"}]
    text = plan_text({**shown, "packing": "none", "lower_bound": 0, "not_run": left, "waves": []})
    assert "(nothing is left to run; below is what does not run, with the reason)\na_1" in text


def test_a_log_must_say_the_global_batch_size_of_its_cell():
    (repeat,) = plan.repeats(strong("2n1g", repeats=1))
    assert repeat["expect"]["global_batch_size"] == 32
    assert "global_batch_size" not in plan.repeats(planned()["cells"])[0]["expect"]


def test_a_campaign_that_is_older_than_the_modes_can_be_continued():
    now = planned()
    before = {**now, "cells": [dict(cell) for cell in now["cells"]]}
    for cell in before["cells"]:
        del cell["scaling"], cell["global_batch_size"]
    assert differences(before, now) == []
    other = {**now, "cells": [{**cell, "scaling": "strong"} for cell in now["cells"]]}
    assert "scaling was 'weak', is 'strong'" in differences(now, other)[0]


def test_memory_that_ran_out_at_a_batch_of_a_device_rules_out_larger_ones_of_either_mode():
    weak, larger = (planned(batch_size_per_device=size, topology="2n1g")["cells"][0]
                    for size in (8, 32))  # fmt: skip
    (cell,) = strong("2n1g")
    assert skipped(cell, [weak]) == "out of memory at 8"
    assert skipped(cell, [larger]) is None
    assert skipped(larger, [cell]) == "out of memory at 16"


def test_the_path_of_a_log_tells_the_mode():
    (log,) = parse_log_path("pytorch/gb32-strong-amp/2n1g/r50_b16_amp_1.log")
    assert (log["scaling"], log["global_batch_size"]) == ("strong", 32)
    assert (log["benchmark"], log["batch_size_per_device"]) == ("pytorch", 16)
    with pytest.raises(ValueError, match="differ in the batch size"):
        parse_log_path("pytorch/gb32-strong/4n1g/r50_b16_fp32_1.log")


def test_the_name_of_a_gpu_is_no_global_batch_size():
    (log,) = parse_log_path("gb200/1n8g/r50_b128_fp32_1.log")
    assert (log["benchmark"], log["scaling"], log["global_batch_size"]) == ("gb200", None, None)
