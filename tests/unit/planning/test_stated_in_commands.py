"""What a cell states its command says: of a factor two choices never run alike."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    declared_factors,
    frameworks,
)
from campaign_data import cluster
from upstream_data import FOLDER, v100_nodes

BENCHMARKS = {
    path.stem: check_benchmark(yaml.safe_load(path.read_text()), path.name)
    for path in sorted(FOLDER.glob("*.yml"))
}
OF_RECIPES = {
    (benchmark, recipe): found
    for benchmark, content in BENCHMARKS.items()
    for recipe, found in content["recipes"].items()
}
RECIPES = [(*key, device) for key, found in OF_RECIPES.items() for device in found["defaults"]]


def cells(device, benchmark, recipe, topology="2n1g", **asked):
    """Return the planned cells on nodes that have every framework, by hand on those of GPUs."""
    given = {"benchmark": benchmark, "recipe": recipe, "topology": topology, **asked}
    options = parse_options(given, own=declared_factors(BENCHMARKS))
    pythons = {name: f"/opt/{name}/bin/python" for name in frameworks(BENCHMARKS, options)}
    nodes = {
        name: {**node, "pythons": pythons, "python_given": device == "gpu"}
        for name, node in (v100_nodes() if device == "gpu" else cluster(4)).items()
    }
    return plan.with_unavailable(plan.build(BENCHMARKS, options, nodes)["cells"], nodes)


def told(cell):
    """Return the programs of a cell with what they are given."""
    return json.dumps([[one["argv"], one["env"]] for one in cell["commands"].values()])


@pytest.mark.parametrize(("benchmark", "recipe", "device"), RECIPES)
def test_each_choice_has_a_command_of_its_own(benchmark, recipe, device):
    choices = OF_RECIPES[benchmark, recipe]["choices"]
    for factor, values in choices.items():
        asked = ",".join(str(value).lower() for value in values)
        by_others: dict[str, list[str]] = {}
        for cell in cells(device, benchmark, recipe, **{factor: asked}):
            if "unavailable" not in cell:
                stated = {**cell, **cell.get("factors", {})}
                others = [stated.get(key) for key in {*choices, "batch_size_per_device"} - {factor}]
                by_others.setdefault(repr(others), []).append(told(cell))
        for commands in by_others.values():
            assert len(set(commands)) == len(commands), factor


@pytest.mark.parametrize(
    ("benchmark", "recipe"), [("pytorch", "time_to_train"), ("tensorflow_time2train", "portable")]
)
@pytest.mark.parametrize(("image_size", "given"), [("32", True), ("224", False)])
def test_small_images_alone_have_a_learning_rate_of_their_own(benchmark, recipe, image_size, given):
    (cell,) = cells("cpu", benchmark, recipe, image_size=image_size)
    rates = re.findall(r"--learning-rate=([\d.]+)", told(cell))
    assert bool(rates) == given
    # Two thirds of the trainers' own, 0.001 for each image that all devices train at a time.
    own = 0.001 * 2 * cell["batch_size_per_device"]
    assert [float(rate) for rate in rates] == [pytest.approx(own * 2 / 3, rel=1e-3)] * len(rates)


@pytest.mark.parametrize(
    ("benchmark", "recipe", "device"),
    [one for one in RECIPES if "resnet50/train_" in OF_RECIPES[one[:2]].get("workload", "")],
)
def test_our_own_trainers_are_told_how_images_are_read(benchmark, recipe, device):
    for cell in cells(device, benchmark, recipe, data="real"):
        text = told(cell)
        assert "--data-dir=" in text
        assert "--workers=" in text
        backend = f"--data-backend={cell['data_backend']}"
        assert (backend in text) == (cell["data_backend"] != "native")


@pytest.mark.parametrize(
    ("benchmark", "recipe", "asked", "reason"),
    [
        ("all_reduce", "portable", {"topology": "1n1g"}, "needs two ranks"),
        ("all_reduce", "mpi", {"topology": "1n1g"}, "needs two ranks"),
        ("paddle", "portable", {"precision": "amp"}, "on a CPU it warns and computes in fp32"),
        ("paddle", "upstream", {"precision": "amp"}, "computes in float16 on GPUs only"),
    ],
)
def test_what_would_measure_something_else_on_a_cpu_is_unavailable(
    benchmark, recipe, asked, reason
):
    found = cells("cpu", benchmark, recipe, **{"topology": "1n1g", **asked})
    assert found
    assert all(reason in cell["unavailable"] for cell in found)
