"""The schema of benchmark files: ours pass, broken ones are told where."""

import copy

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from campaign_data import ROOT, benchmarks


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.yml")), ids=lambda p: p.stem)
def test_every_benchmark_file_passes(path):
    name = path.stem
    assert check_benchmark(benchmarks()[name], path.name)["benchmark"] == name


def broken(change):
    definition = copy.deepcopy(benchmarks()["pytorch"])
    change(definition, definition["recipes"]["portable"])
    return definition


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d, r: d.pop("model"), "x.yml.model is missing"),
        (lambda d, r: d.update(recipes={}), "at least one recipe"),
        (lambda d, r: r.update(lancher="x"), "portable.lancher: no such key; there are"),
        *(
            (lambda d, r, key=key: r.update({key: "x" * 5000}), said.format(f"'{'x' * 79}"))
            for key, said in (
                ("launcher", "portable.launcher: {} is not one of"),
                ("additions", "portable.additions: a list is needed, not {}"),
                ("arguments", "portable.arguments: a list is needed, not {}"),
            )
        ),
        (lambda d, r: r["arguments"].append(["x" * 5000]), f"['{'x' * 78} is not a text"),
        (lambda d, r: r.update(launcher="slurm"), "'slurm' is not one of horovodrun, kvstore"),
        (lambda d, r: r["arguments"].append(4), "4 is not a text: quote it"),
        (lambda d, r: r["arguments"].append("--x={batch}"), "{batch} is not one of"),
        (lambda d, r: r["arguments"].append("--x={batch}"), "the benchmark declares in factors"),
        (lambda d, r: r["arguments"].append("--x={nodes:>9999}"), "{nodes} takes no form"),
        (lambda d, r: r["arguments"].append("--x={nodes!r}"), "{nodes} takes no form"),
        (lambda d, r: r.update(additions=[3]), "additions[0]: a mapping is needed"),
        (lambda d, r: r["defaults"]["cpu"].pop("topology"), "defaults.cpu.topology is missing"),
        (lambda d, r: r["defaults"]["cpu"].update(repeats=0), "defaults.cpu repeats=0: 0 is below"),
        (lambda d, r: r["defaults"]["cpu"].update(batch=1), "batch: no such option"),
        (lambda d, r: r.update(choices=[]), "choices: a dict is needed"),
        (lambda d, r: r.pop("workload"), "portable: either workload (a file below workloads/)"),
        *(
            (lambda d, r, path=path: r.update(workload=path), f"portable.workload: {path!r} is not")
            for path in (
                "",
                " ",
                ".",
                "/",
                "/a/b.py",
                "../a.py",
                "a/../b.py",
                "a/",
                "./a.py",
                "a\n",
            )
        ),
        (
            lambda d, r: r.update(versions={"1": {"workload": "/x"}}),
            "portable.workload: '/x' is not the path of a file below workloads/, as",
        ),
        *(
            (
                lambda d, r, key=key, name=name: r.update({key: name}),
                f"{key}: {name!r} is not a name",
            )
            for key in ("framework", "framework_set")
            for name in ("", "\n", "{nope}", "a/b")
        ),
        (lambda d, r: r.update(program=["x"]), "portable: either workload (a file below"),
        (lambda d, r: r.update(launcher_options={"port": 1}), "launcher_options.port: no such key"),
        (lambda d, r: r.update(reader="tensorflow"), "reader: 'tensorflow' is not one of auto, "),
        (lambda d, r: r.update(strategy={"name": "best"}), "strategy: no strategy named 'best'"),
        (lambda d, r: r.update(versions={1.15: {}}), "versions.1.15: 1.15 is not a text: quote it"),
        (lambda d, r: r.update(versions={"1": {"model": "x"}}), "versions.1.model: no such key"),
        (lambda d, r: r["additions"].append({"when": {}}), "[2]: arguments or environment is"),
        (lambda d, r: r["additions"].append({}), "additions[2].when is missing"),
        (
            lambda d, r: r["additions"].append({"when": {"gpus": 1}, "arguments": []}),
            "additions[2].when.gpus: no such factor; there are batch_size_per_device, ",
        ),
        (
            lambda d, r: r["additions"].append({"when": {"precision": "fp8"}, "arguments": []}),
            "when.precision: 'fp8' is not among the recipe's choices: fp32, tf32, amp, bf16",
        ),
        (
            lambda d, r: r.update(unavailable=[{"when": {"xla": True}, "reason": "x"}]),
            "unavailable[0].when.xla: True is not among the recipe's choices: False",
        ),
        (
            lambda d, r: r.update(conditions=[{"when": {}, "loss_scaling": "fixed"}]),
            "portable.conditions[0].loss_scaling: 'fixed' is not one of dynamic, static",
        ),
        (
            lambda d, r: r.update(conditions=[{"when": {}, "gpu": "V100"}]),
            "portable.conditions[0].loss_scaling is missing",
        ),
        (
            lambda d, r: r.update(
                conditions=[{"when": {"precision": "fp16"}, "loss_scaling": "static"}]
            ),
            "conditions[0].when.precision: 'fp16' is not among the recipe's choices",
        ),
        (lambda d, r: r.update(environment={"X": "{home}"}), "environment: '{home}': {home} is"),
        (lambda d, r: r.update(environment={"X": 1}), "environment: 1 is not a text: quote it"),
        (lambda d, r: r["arguments"].append("{"), "write {{ for a brace"),
        (
            lambda d, r: r["defaults"]["cpu"].update(precision=["fp8"]),
            "defaults.cpu.precision: 'fp8' is not among the recipe's choices",
        ),
        (lambda d, r: r.update(estimate={"1n1g": "x"}), "estimate.1n1g: seconds are needed, not"),
        (lambda d, r: r.update(estimate={"1n1g": 0}), "estimate.1n1g: 0 is not a number of sec"),
        (lambda d, r: r.update(estimate={"one": 5}), "estimate: 'one' is not a topology"),
        (lambda d, r: r["defaults"]["cpu"].update(matrix={}), "cpu.matrix: a list of mappings"),
        (
            lambda d, r: r["defaults"]["cpu"].update(matrix=[{"repeats": 1}]),
            "cpu.matrix[0]: repeats: no such option",
        ),
    ],
)
def test_a_broken_file_is_told_where_and_why(change, said):
    with pytest.raises(ValueError) as error:
        check_benchmark(broken(change), "x.yml")
    assert str(error.value).startswith("x.yml")
    assert said in str(error.value)
    assert "x" * 81 not in str(error.value)


def test_a_file_that_is_no_mapping_is_told():
    with pytest.raises(ValueError, match=r"x.yml: a mapping is needed, not NoneType"):
        check_benchmark(None, "x.yml")


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ({"nodes": "2"}, "nodes: '2' never equals a cell's value: write 2 without quotes"),
        ({"image_size": ["224"]}, "image_size: '224' never equals a cell's value: write 224"),
        (
            {"several_nodes": "true"},
            "several_nodes: 'true' never equals a cell's value",
        ),
        ({"device": "tpu"}, "device: 'tpu' is not one of cpu, gpu"),
        ({"framework_version": 1.15}, "framework_version: 1.15 is not a text"),
        ({"devices_per_node": 0}, "devices_per_node: 0 is below 1"),
    ],
)
def test_a_condition_that_never_holds_is_refused(when, said):
    entry = {"when": when, "arguments": ["--x"]}
    with pytest.raises(ValueError) as error:
        check_benchmark(broken(lambda d, r: r.update(additions=[entry])), "x.yml")
    assert str(error.value).startswith(f"x.yml: recipes.portable.additions[0].when.{said}")
