"""Conditions of a measured cell: recorded, of the nodes, read off the logs' format, or stated."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.published.conditions import (
    cell_conditions,
    check_stated,
    plain_condition,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign

V100 = {"name": "Tesla V100-SXM2-16GB", "driver": "450"}


def built(changes=(), nodes=(), stated=(), reader="scalebench"):
    """Return the results of a campaign of one cell and that cell."""
    plan, runs = campaign({"1n1g": [10.0, 11.0, 12.0]}, **dict(changes))
    plan["nodes"] = dict(nodes)
    plan["options"] = {"conditions": dict(stated)} if stated else {}
    for run in runs:
        run["facts"]["reader"] = reader
    results = build_results(plan, runs)
    return results["cells"][0], results


def test_a_cell_brings_its_figures_and_its_own_conditions():
    found = cell_conditions(*built({"image_size": 224, "data": "real", "xla": True}))
    assert (found["throughput"], found["runs"]) == (11.0, [10.0, 11.0, 12.0])
    assert (found["own_factors"]["image_size"], found["data"], found["xla"]) == (224, "real", True)
    assert found["gpu"] is None and found["data_backend"] is None


def test_nodes_tell_gpu_and_version():
    frameworks = {"pytorch": {"packages": {"torch": "2.13.0"}, "image": None}}
    nodes = {"a": {"gpus": [V100, V100], "frameworks": frameworks}, "b": {"gpus": []}}
    cell = {"framework": "pytorch", "node_names": ["a"], "device": "gpu"}
    found = cell_conditions(*built(cell, nodes))
    assert found["gpu"] == "Tesla V100-SXM2-16GB"
    assert (found["framework_version"], found["container"]) == ("2.13.0", None)


def test_different_gpus_are_all_named():
    nodes = {"a": {"gpus": [V100]}, "b": {"gpus": [dict(V100, name="NVIDIA A100-SXM4-40GB")]}}
    found = cell_conditions(*built({"node_names": ["a", "b"], "device": "gpu"}, nodes))
    assert found["gpu"] == "Tesla V100-SXM2-16GB, NVIDIA A100-SXM4-40GB"


def test_a_cell_on_the_cpu_has_no_gpu_though_its_node_has_one():
    found = cell_conditions(*built({"node_names": ["a"], "device": "cpu"}, {"a": {"gpus": [V100]}}))
    assert (found["gpu"], found["device"]) == (None, "cpu")


@pytest.mark.parametrize(
    ("reader", "framework"),
    [
        ("tensorflow_official", "tensorflow"),
        ("mxnet_speedometer", "mxnet"),
        ("paddleclas", "paddle"),
        ("pytorch_ngc", "pytorch"),
        ("scalebench", None),
    ],
)
def test_the_format_of_a_log_tells_its_framework(reader, framework):
    assert cell_conditions(*built(reader=reader))["framework"] == framework


def test_what_is_stated_fills_what_is_not_known_and_names_the_model():
    stated = {"gpu": "V100-SXM2-16GB", "data": "synthetic", "model": "r50", "framework": "jax"}
    cell = {"model": "net", "data": "real"}
    found = cell_conditions(*built(cell, stated=stated, reader="oneflow"))
    assert (found["gpu"], found["model"]) == ("V100-SXM2-16GB", "r50")
    assert (found["data"], found["framework"]) == ("real", "oneflow")


@pytest.mark.parametrize(
    ("logged", "scaling"), [({}, "dynamic"), ({"loss_scaling": "static"}, "static")]
)
def test_what_a_recipe_states_counts_where_the_logs_are_silent(logged, scaling):
    plan, runs = campaign({"1n1g": [10.0, 11.0]}, precision="amp", loss_scaling="dynamic")
    for run in runs:
        run["facts"]["identity"] = logged
    results = build_results(plan, runs)
    assert cell_conditions(results["cells"][0], results)["loss_scaling"] == scaling


def test_stated_texts_get_their_type():
    given = {"image_size": "224", "xla": "No", "data": "real", "gpu": "V100"}
    assert check_stated(given) == {"image_size": 224, "xla": False, "data": "real", "gpu": "V100"}
    assert check_stated({"xla": True}) == {"xla": True}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"topology": "1n1g"}, r"'topology' cannot be stated: use one of model, framework"),
        ({"image_size": "large"}, r"image_size is 'large': int is needed"),
        ({"image_size": 0}, r"image_size is 0"),
        ({"xla": "maybe"}, r"xla is 'maybe': bool is needed"),
        ({"data": "fake"}, r"data is 'fake': real or synthetic is needed"),
        ({"gpu": ""}, r"gpu is ''"),
    ],
)
def test_what_cannot_be_stated_is_an_error(given, problem):
    with pytest.raises(ValueError, match=problem):
        check_stated(given)


@pytest.mark.parametrize(
    ("logged", "xla", "data"),
    [((True, True, True), True, "real"), ((True, False, True), None, "synthetic")],
)
def test_what_all_logs_of_a_tree_state_goes_before_path_and_user(logged, xla, data):
    """A path without ``xla`` has it as False, whatever the log says."""
    plan, runs = campaign({"1n1g": [10.0, 11.0, 12.0]}, xla=xla and False, precision="fp16")
    stated = {"data": "synthetic", "image_size": 224}
    plan["options"] = {"log_dir": "logs", "conditions": stated}
    for run, one in zip(runs, logged, strict=True):
        run["facts"]["identity"] = {
            "precision": "amp",
            "xla": one,
            "data": "real" if all(logged) else None,
        }
    results = build_results(plan, runs)
    found = cell_conditions(results["cells"][0], results)
    assert (found["xla"], found["precision"]) == (xla, "amp")
    assert (found["data"], found["image_size"]) == (data, 224)


def test_the_plan_of_a_campaign_goes_before_its_logs():
    plan, runs = campaign({"1n1g": [10.0]}, precision="fp16")
    runs[0]["facts"]["identity"] = {"precision": "amp"}
    results = build_results(plan, runs)
    assert cell_conditions(results["cells"][0], results)["precision"] == "fp16"


def test_samples_of_a_log_are_what_the_benchmark_says_that_a_sample_is():
    plan, runs = campaign({"1n1g": [10.0]})
    for run in runs:
        run["facts"]["unit"] = "samples/s"
    results = build_results(plan, runs)
    (cell,) = results["cells"]
    assert plain_condition("unit", cell_conditions(cell, results)) is None
    stated = {**cell, "model_data": {"name": "r50", "samples": "sequences"}}
    assert plain_condition("unit", cell_conditions(stated, results)) == "sequences"
