"""Cells of the repository's own benchmarks that GPU nodes cannot run, and the reasons they get."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.node.interpreters import wrong_machine
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import frameworks
from campaign_data import cluster
from upstream_data import FOLDER, v100_nodes

BENCHMARKS = {
    path.stem: check_benchmark(yaml.safe_load(path.read_text()), path.name)
    for path in sorted(FOLDER.glob("*.yml"))
}
PUBLISHED = [
    (benchmark, recipe)
    for benchmark, content in BENCHMARKS.items()
    for recipe, found in content["recipes"].items()
    if "sources" in found
]
# The newest GPUs that the CUDA of each published image or wheel has code for.
NEWEST = {"tensorflow_time2train": "ampere"}
# What of PyPI or of our build has no CUDA.
FOR_CPUS = ["mxnet_ngc", "paddle", "tensorflow_ngc"]


def reasons(architectures, **asked):
    """Return why each cell cannot run on GPU nodes, by benchmark; empty where it can."""
    options = parse_options(asked)
    needed = frameworks(BENCHMARKS, options)
    nodes = {
        name: {
            **node,
            "architectures": architectures,
            "pythons": {key: f"/opt/venvs/{key}/bin/python" for key in needed},
        }
        for name, node in v100_nodes().items()
    }
    made = plan.with_unavailable(plan.build(BENCHMARKS, options, nodes)["cells"], nodes)
    found: dict[str, set[str]] = {}
    for cell in made:
        found.setdefault(cell["benchmark"], set()).add(cell.get("unavailable", ""))
        assert cell.get("excused", True), "provisioning cannot repair it"
    return found


@pytest.mark.parametrize(("benchmark", "recipe"), PUBLISHED)
def test_published_software_runs_on_the_gpus_that_it_has_code_for(benchmark, recipe):
    asked = {"benchmark": benchmark, "recipe": recipe}
    newest = NEWEST.get(benchmark, "turing")
    for architecture in ("volta", newest):
        assert reasons([architecture], **asked) == {benchmark: {""}}
    # No GPU on a PCI bus that can be read: not judged.
    assert reasons([], **asked) == {benchmark: {""}}
    (reason,) = reasons(["volta", "hopper"], **asked)[benchmark]
    assert reason.startswith("its software has code for pascal, volta, turing")
    assert reason.endswith("and the nodes have hopper, volta")


def test_frameworks_built_for_cpus_are_unavailable_on_gpus_and_the_others_run():
    found = reasons(["hopper"], benchmark="all", recipe="portable", data="synthetic")
    assert found["pytorch"] == {""}
    for benchmark in FOR_CPUS:
        assert all("-e framework_python=" in reason for reason in found[benchmark])


@pytest.mark.parametrize(
    ("architecture", "runs"), [("volta", True), ("turing", True), ("ampere", False)]
)
def test_the_wheel_of_oneflow_runs_on_gpus_before_ampere(architecture, runs):
    (reason,) = reasons([architecture], benchmark="oneflow")["oneflow"]
    assert (reason == "") is runs
    assert runs or reason.startswith("its software has code for pascal, volta, turing GPUs")


def test_an_interpreter_that_is_given_is_asked_nothing():
    options = parse_options({"benchmark": "paddle"})
    nodes = {
        name: {**node, "python_given": True, "pythons": {"paddle": "/opt/paddle/bin/python"}}
        for name, node in v100_nodes().items()
    }
    made = plan.build(BENCHMARKS, options, nodes)["cells"]
    assert {tuple(cell["not_there"]) for cell in made} == {()}


@pytest.mark.parametrize(("benchmark", "judged"), [("paddle", False), ("mxnet_ngc", True)])
def test_the_gpus_of_a_given_interpreter_are_its_own_affair_but_not_of_an_image(benchmark, judged):
    nodes = {
        name: {**node, "python_given": True, "architectures": ["hopper"]}
        for name, node in v100_nodes().items()
    }
    options = parse_options({"benchmark": benchmark, "recipe": "upstream"})
    made = plan.build(BENCHMARKS, options, nodes)["cells"]
    assert {bool(cell["not_there"]) for cell in made} == {judged}


def test_a_cell_does_not_mix_models_of_gpus_unless_that_is_asked_for():
    nodes = v100_nodes()
    for node in nodes.values():
        node["pythons"] = {"pytorch": "/opt/venvs/pytorch/bin/python"}
    last = list(nodes)[-1]
    gpus = nodes[last]["fingerprint"]["gpus"]
    nodes[last]["fingerprint"]["gpus"] = [{**gpu, "name": "NVIDIA H100"} for gpu in gpus]
    asked = {"benchmark": "pytorch", "topology": f"1n8g,{len(nodes)}n8g", "precision": "fp32"}
    whole = {
        bool(flag): [
            (cell["topology"], cell["not_there"])
            for cell in plan.build(BENCHMARKS, parse_options({**asked, **flag}), nodes)["cells"]
        ]
        for flag in ({}, {"mixed_gpus": "true"})
    }
    assert {tuple(reasons) for _, reasons in whole[True]} == {()}
    for topology, reasons in whole[False]:
        assert bool(reasons) is (topology != "1n8g")
        if reasons:
            assert reasons[0].startswith("it would mix models of GPUs, ")
            assert f", NVIDIA H100 on {last}: choose nodes of one" in reasons[0]


def test_a_package_that_no_index_has_is_excused():
    nodes = v100_nodes()
    for node in nodes.values():
        node["unusable"] = {"oneflow_upstream": "no package index has oneflow==0.1.8: …"}
    options = parse_options({"benchmark": "oneflow", "recipe": "upstream"})
    made = plan.with_unavailable(plan.build(BENCHMARKS, options, nodes)["cells"], nodes)
    assert all(cell["excused"] for cell in made)


@pytest.mark.parametrize(
    "reason",
    [
        "stack v100-2020: its wheels need driver 525 or later",
        wrong_machine(["x86_64"], "aarch64"),
    ],
)
def test_what_no_provisioning_can_install_is_excused(reason):
    nodes = v100_nodes()
    for node in nodes.values():
        node["pythons"] = {"pytorch": "/opt/venvs/pytorch/bin/python"}
        node["unusable"] = {"pytorch": reason}
    made = plan.build(BENCHMARKS, parse_options({"benchmark": "pytorch"}), nodes)["cells"]
    assert all(cell["excused"] for cell in plan.with_unavailable(made, nodes))


@pytest.mark.parametrize(
    ("architectures", "precision", "runs"),
    [
        (["volta"], "tf32", False),
        (["turing", "hopper"], "bf16", False),
        (["volta"], "fp32", True),
        (["volta"], "amp", True),
        (["ampere"], "tf32", True),
        (["hopper"], "bf16", True),
    ],
)
def test_tf32_and_bf16_need_gpus_that_compute_in_them(architectures, precision, runs):
    (reason,) = reasons(architectures, benchmark="pytorch", precision=precision)["pytorch"]
    assert bool(reason) != runs
    assert runs or reason.startswith(f"GPUs compute in {precision} since Ampere, and the nodes")


def test_tf32_is_no_format_of_a_cpu():
    made = plan.build(BENCHMARKS, parse_options({"precision": "tf32"}), cluster(1))["cells"]
    assert [cell["not_there"] for cell in made] == [
        ["TF32 is a format of GPUs; on a CPU ask for fp32"]
    ]


def test_an_unknown_architecture_in_a_file_is_refused():
    content = yaml.safe_load((FOLDER / "paddle.yml").read_text())
    content["recipes"]["upstream"]["gpu_architectures"] = ["V100"]
    with pytest.raises(ValueError, match=r"gpu_architectures: 'V100' is not one of kepler, "):
        check_benchmark(content, "paddle.yml")


def test_the_containers_of_cells_that_can_run_are_examined():
    asked = {"benchmark": "tensorflow_ngc,mxnet_ngc,paddle", "recipe": "upstream"}
    options = parse_options(asked)
    for architecture, expected in (
        ("volta", ["scalebench-mxnet_ngc-upstream", "scalebench-tensorflow_ngc-upstream"]),
        ("hopper", []),
    ):
        nodes = {
            name: {**node, "architectures": [architecture]} for name, node in v100_nodes().items()
        }
        made = plan.with_unavailable(plan.build(BENCHMARKS, options, nodes)["cells"], nodes)
        assert plan.containers(made) == expected


@pytest.mark.parametrize(
    ("architectures", "precision", "override"),
    [
        (["hopper"], "fp32", "0"),
        (["hopper"], "tf32", None),
        (["hopper"], "amp", None),
        (["volta"], "fp32", None),
        ([], "fp32", None),
    ],
)
def test_fp32_is_ieee_on_gpus_that_have_tf32(architectures, precision, override):
    nodes = v100_nodes()
    for node in nodes.values():
        node["architectures"] = architectures
        node["pythons"] = {"pytorch": "/opt/venvs/pytorch/bin/python"}
    asked = parse_options({"precision": precision, "topology": "1n8g"})
    for cell in plan.build(BENCHMARKS, asked, nodes)["cells"]:
        environment = cell["commands"][cell["node_names"][0]]["env"]
        assert environment.get("NVIDIA_TF32_OVERRIDE") == override


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"iterations": "3"}, ""),
        ({"iterations": "2"}, "of fewer than three iterations one disturbance"),
        ({"topology": "2n1g"}, "of two nodes neither can be told"),
        ({"topology": "1n1g"}, "one node has no other"),
    ],
)
def test_a_diagnosis_without_an_answer_is_refused_before_it_measures(asked, reason):
    (told,) = reasons(["volta"], benchmark="diagnose", **asked)["diagnose"]
    assert told.startswith(reason)
    assert bool(told) == bool(reason)
