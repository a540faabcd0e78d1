"""A benchmark that states its model, from its file to results."""

import copy

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    declared_factors,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from campaign_data import ROOT, cluster
from yaml import safe_load

FILE = ROOT / "tests/integration/workloads/toy_sequences.yml"
MODEL = {
    "name": "toy-2",
    "samples": "sequences",
    "flops_per_unit": {"formula": "nvidia_decoder", "source": "a paper"},
    "parameters": {"figure": 1000, "source": "counted"},
}


def toy(**keys):
    """Return the toy's file in tokens, with some keys changed; None takes one away."""
    tokens = {"unit": "tokens", "units_per_sample": "sequence_length", "model": dict(MODEL)}
    merged = {**safe_load(FILE.read_text()), **tokens, **copy.deepcopy(keys)}
    return {key: value for key, value in merged.items() if value is not None}


def planned(file, **given):
    known = {"toy_sequences": check_benchmark(file, "toy.yml")}
    options = parse_options({"benchmark": "toy_sequences", **given}, own=declared_factors(known))
    nodes = cluster(2, workload_dir="/w", pythons={"none": "python3"})
    return plan.build(known, options, nodes)


def test_a_cell_has_unit_units_per_sample_and_the_model():
    made = planned(toy(), sequence_length="128,512", topology="1n1g")
    assert [cell["units_per_sample"] for cell in made["cells"]] == [128, 512]
    cell = made["cells"][0]
    assert (cell["unit"], cell["model"], cell["model_data"]) == ("tokens/s", "toy-2", MODEL)
    assert cell["name"] == "toy-2_b4_fp32"
    assert plan.expected_identity(cell)["units_per_sample"] == 128
    assert planned(toy(units_per_sample=77))["cells"][0]["units_per_sample"] == 77


def test_results_carry_them():
    made = planned(toy(), topology="1n1g")
    (cell,) = build_results({**made, "campaign": "c"}, [])["cells"]
    assert (cell["units_per_sample"], cell["model_data"]) == (128, MODEL)


def test_a_benchmark_with_a_name_only_has_none_of_them():
    made = planned(toy(model="toy", unit=None, units_per_sample=None))
    assert not {"unit", "units_per_sample", "model_data"} & {*made["cells"][0]}


def test_a_benchmark_says_why_its_figures_have_no_speedup():
    made = planned(toy(unit="MB", units_per_sample=4, no_speedup="it is a bandwidth"))
    assert {cell["no_speedup"] for cell in made["cells"]} == {"it is a bandwidth"}
    assert {cell["unit"] for cell in made["cells"]} == {"MB/s"}
    with pytest.raises(ValueError, match=r"no_speedup: say why its figures have no speed-up"):
        check_benchmark(toy(no_speedup=" "), "toy.yml")


def model(**keys):
    return {key: value for key, value in {**MODEL, **keys}.items() if value is not None}


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"unit": "Tokens/s"}, r"unit: 'Tokens/s': must name what is counted"),
        ({"unit": None}, r"units_per_sample: 'sequence_length' of what\? unit is missing"),
        ({"units_per_sample": 0}, r"units_per_sample: 0 is neither a whole number above 0"),
        ({"units_per_sample": 1.5}, r"1.5 is neither"),
        ({"units_per_sample": True}, r"True is neither"),
        ({"units_per_sample": [1]}, r"\[1\] is neither"),
        ({"units_per_sample": "packed"}, r"of type count \(sequence_length\)"),
        ({"units_per_sample": "precision"}, r"'precision' is neither"),
        ({"unit": "samples"}, r"unit: 'samples' would be compared with anything"),
        (
            {"units_per_sample": None},
            r"model.samples: a batch is of sequences, and the",
        ),
        ({"model": 5}, r"model: a name, or a mapping with name, is needed, not 5"),
        ({"model": "a/b"}, r"model.name: 'a/b': letters, digits"),
        ({"model": model(name=None)}, r"model.name: None: letters, digits"),
        ({"model": model(flop=1)}, r"model.flop: no such key; there are name, samples"),
        ({"model": model(samples="Big ones")}, r"model.samples: 'Big ones'"),
        ({"model": model(flops_per_unit=5)}, r"model.flops_per_unit: a dict is needed, not 5"),
        ({"model": model(gradient_bytes=MODEL["parameters"])}, r"either gradient_bytes or par"),
        ({"model": model(parameters={"figure": 5})}, r"parameters.source: say where"),
        ({"model": model(parameters={"formula": "x", "source": "y"})}, r"figure, and source, are"),
        ({"model": model(parameters={"figure": "4e9", "source": "y"})}, r"write 4.0e\+9"),
        ({"model": model(parameters={"figure": float("inf"), "source": "y"})}, r"above 0 is n"),
        ({"model": model(parameters={"figure": 10**400, "source": "y"})}, r"above 0 is n"),
        ({"model": model(parameters={"figure": 1e31, "source": "y"})}, r"below 1e\+30"),
        ({"model": model(flops_per_unit={"formula": [], "source": "y"})}, r"\[\] is not one of"),
        (
            {"model": model(flops_per_unit={"formula": "x", "source": "y"})},
            r"flops_per_unit.formula: 'x' is not one of nvidia_decoder, torchtitan_decoder",
        ),
        (
            {"model": model(flops_per_unit={"formula": "encoder", "figure": 1, "source": "y"})},
            r"flops_per_unit: figure or formula, and source, are needed",
        ),
    ],
)
def test_a_mistake_is_named_with_file_key_and_what_is_needed(keys, problem):
    with pytest.raises(ValueError, match=r"^toy.yml: .*" + problem):
        check_benchmark(toy(**keys), "toy.yml")
