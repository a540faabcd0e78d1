"""Recipes: the usual one, framework versions, cells that cannot be, how logs are read."""

import copy
import re

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan, recipes
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    frameworks,
    workloads,
)
from campaign_data import benchmarks, cluster


def with_versions():
    """Return PyTorch's benchmark with an older version, which has a launcher of its own."""
    definition = copy.deepcopy(benchmarks()["pytorch"])
    recipe = definition["recipes"]["portable"]
    recipe["versions"] = {"2.13": {}, "1.0": {"framework_set": "old", "launcher": "per_node"}}
    recipe["unavailable"] = [
        {"when": {"framework_version": "1.0", "precision": "amp"}, "reason": "1.0 has no amp"}
    ]
    recipe["strategy"] = {"name": "dlperf_tensorflow", "parameters": {"warmup": 0}}
    recipe["reader"] = "tensorflow_ngc_train"
    return {"pytorch": check_benchmark(definition, "x.yml")}


def cells(**options):
    nodes = cluster(1)
    nodes["node1"]["pythons"]["old"] = "/old/python"
    built = plan.build(with_versions(), parse_options({"topology": "1n1g", **options}), nodes)
    return built["cells"]


def test_portable_is_the_usual_recipe_and_else_the_first():
    assert recipes.usual_recipe({"recipes": {"upstream": {}, "portable": {}}}) == "portable"
    assert recipes.usual_recipe({"recipes": {"upstream": {}, "other": {}}}) == "upstream"


def test_the_first_version_needs_no_mention():
    (cell,) = cells()
    assert (cell["framework_version"], cell["framework_set"]) == ("2.13", "pytorch")
    assert cell["variant"] == "bz2"


def test_another_version_has_its_own_packages_launcher_and_folder():
    (cell,) = cells(framework_version="1.0")
    assert cell["framework"] == "pytorch"
    assert cell["framework_set"] == "old"
    assert cell["variant"] == "bz2-v1.0"
    assert cell["commands"]["node1"]["argv"][:2] == [
        "/old/python",
        "/opt/workloads/resnet50/train_pytorch.py",
    ]


def test_provisioning_installs_the_packages_of_the_versions_asked_for():
    assert frameworks(with_versions(), {}) == ["pytorch"]
    assert frameworks(with_versions(), {"framework_version": ["2.13", "1.0"]}) == ["old", "pytorch"]


def test_provisioning_installs_the_packages_of_the_device():
    options = {"benchmark": ["mxnet_ngc", "paddle"], "recipe": "upstream"}
    assert frameworks(benchmarks(), options, "gpu") == ["paddle_upstream"]
    assert frameworks(benchmarks(), options, "cpu") == ["mxnet_horovod_seed", "paddle_seed"]
    assert len(frameworks(benchmarks(), options)) == 3
    assert workloads(benchmarks(), {"benchmark": ["pytorch"]}) == {
        "resnet50/train_pytorch.py": "pytorch.yml: recipes.portable.workload"
    }
    given = {"benchmark": ["paddle"], "recipe": "upstream"}
    assert workloads(benchmarks(), given) == {
        "published_on_cpu/start.py": "paddle.yml: recipes.upstream.program"
    }


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ({"tpu": {}}, "devices.tpu: no such key"),
        ({"cpu": {"choices": {}}}, "devices.cpu.choices: no such key"),
        ({"cpu": {"program": None}}, "devices.cpu.program: a list is needed"),
        ({"cpu": {"launcher": "none"}}, "launcher: 'none' is not one of"),
    ],
)
def test_what_differs_on_a_device_is_checked(devices, message):
    definition = copy.deepcopy(benchmarks()["pytorch"])
    definition["recipes"]["portable"]["devices"] = devices
    with pytest.raises(ValueError, match=re.escape(message)):
        check_benchmark(definition, "x.yml")


def test_what_a_framework_cannot_do_is_unavailable_with_its_reason():
    made = plan.with_unavailable(cells(framework_version="1.0,2.13", precision="amp"), cluster(1))
    assert {cell["framework_version"]: cell.get("unavailable") for cell in made} == {
        "1.0": "1.0 has no amp",
        "2.13": None,
    }


def test_logs_are_read_as_the_recipe_says_with_the_cells_iterations():
    assert cells(iterations=50)[0]["reading"] == {
        "reader": "tensorflow_ngc_train",
        "strategy": "dlperf_tensorflow",
        "parameters": {"warmup": 0, "iterations": 50},
    }


def test_another_recipe_than_the_usual_one_has_a_folder_of_its_own():
    definition = copy.deepcopy(benchmarks()["pytorch"])
    definition["recipes"]["other"] = definition["recipes"]["portable"]
    options = parse_options({"topology": "1n1g", "recipe": "other"})
    (cell,) = plan.build({"pytorch": definition}, options, cluster(1))["cells"]
    assert cell["directory"] == "pytorch/bz2-other/1n1g"


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ({}, True),
        ({"nodes": 2}, True),
        ({"nodes": [1, 2]}, True),
        ({"nodes": [4], "precision": "amp"}, False),
        ({"nodes": [2], "precision": "fp32"}, False),
        ({"several_nodes": True}, True),
        ({"several_nodes": False}, False),
    ],
)
def test_a_condition_holds_where_every_factor_does(when, holds):
    cell = {"nodes": 2, "precision": "amp"}
    assert bool(recipes.matching([{"when": when}], cell)) is holds


@pytest.mark.parametrize("recipe", [None, "upstream", "portable"])
def test_all_benchmarks_are_the_trainings_that_have_the_recipe_that_is_asked_for(recipe):
    options = parse_options({"benchmark": "all", **({"recipe": recipe} if recipe else {})})
    wanted = [
        name
        for name, one in sorted(benchmarks().items())
        if name not in ("all_reduce", "diagnose") and (recipe is None or recipe in one["recipes"])
    ]
    assert recipes._asked_for(benchmarks(), options) == wanted
