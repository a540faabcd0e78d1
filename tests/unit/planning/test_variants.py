"""Variants of a benchmark: what is refused, what they change, and the order in which they run."""

import copy
import itertools
import json
from collections import Counter

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan, plan_changes
from ansible_collections.scalebench.core.plugins.module_utils.planning.benchmark_file import (
    check_benchmark,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import preparations
from ansible_collections.scalebench.core.plugins.module_utils.running.outstanding import (
    Ledger,
    outstanding,
)
from ansible_collections.scalebench.core.plugins.module_utils.running.policy import policy
from campaign_data import benchmarks, cluster

VARIANTS = {
    "usual": None,
    "mkl": {"environment": {"MKL_NUM_THREADS": "{threads}"}, "about": "MKL with one thread"},
    "lr": {"arguments": ["--learning-rate=0.01"]},
}


def with_variants(variants=VARIANTS, name="pytorch"):
    """Return the benchmark files; one has variants."""
    known = benchmarks()
    known[name] = check_benchmark({**copy.deepcopy(known[name]), "variants": variants}, "a.yml")
    return known


def planned(variants=VARIANTS, seed="first", kept=None, nodes=None, **options):
    given = parse_options({"topology": "1n1g,2n1g", "repeats": 2, **options})
    return plan.build(with_variants(variants), given, nodes or cluster(2), kept, seed)


def order(made, seed):
    return [
        (repeat["repeat"], repeat["cell"]["topology"], repeat["cell"]["treatment"])
        for repeat in plan.repeats(made["cells"], seed)
    ]


def test_a_variant_is_a_factor_of_the_cell_and_adds_to_its_command():
    made = planned(topology="1n1g")
    cells = {cell["treatment"]: cell for cell in made["cells"]}
    assert {name: cell["directory"] for name, cell in cells.items()} == {
        name: f"pytorch/bz2-{name}/1n1g" for name in VARIANTS
    }
    commands = {name: cell["commands"]["node1"] for name, cell in cells.items()}
    plain = commands["usual"]
    assert commands["mkl"]["env"] == {**plain["env"], "MKL_NUM_THREADS": "1"}
    assert commands["mkl"]["argv"] == plain["argv"]
    assert commands["lr"]["argv"] == [*plain["argv"], "--learning-rate=0.01"]
    assert commands["lr"]["env"] == plain["env"]
    assert made["variants"]["pytorch"] == {**VARIANTS, "usual": {}}
    assert made["seed"] == "first"


def test_some_variants_can_be_asked_for_the_first_of_them_is_the_reference():
    made = planned(treatment="lr,usual", topology="1n1g")
    assert [cell["treatment"] for cell in made["cells"]] == ["lr", "usual"]
    with pytest.raises(ValueError, match=r"treatment=fast.*the choices are usual, mkl, lr"):
        planned(treatment="fast")


def test_a_campaign_without_variants_is_as_before():
    made = plan.build(benchmarks(), parse_options({"topology": "1n1g,2n1g"}), cluster(2))
    assert {"variants", "seed"}.isdisjoint(made)
    assert {cell["treatment"] for cell in made["cells"]} == {"none"}
    assert [cell["directory"] for cell in made["cells"]] == ["pytorch/bz2/1n1g", "pytorch/bz2/2n1g"]
    older = copy.deepcopy(made)
    for cell in older["cells"]:
        del cell["treatment"]
    assert plan_changes.differences(older, made) == []


def test_each_round_has_every_variant_of_a_cell_together():
    made = planned(repeats=40)
    found = order(made, made["seed"])
    for start in range(0, len(found), 3):
        block = found[start : start + 3]
        assert len({one[:2] for one in block}) == 1
        assert {one[2] for one in block} == {*VARIANTS}
    assert [one[0] for one in found] == sorted(one[0] for one in found)


def test_every_order_of_a_round_is_equally_likely():
    made = planned(topology="1n1g", repeats=3000)
    found = [one[2] for one in order(made, made["seed"])]
    counts = Counter(tuple(found[start : start + 3]) for start in range(0, len(found), 3))
    assert {*counts} == {*itertools.permutations(VARIANTS)}
    # 500 are expected of each; four standard deviations are 82.
    assert all(abs(count - 500) < 82 for count in counts.values())


def test_the_order_depends_on_the_seed_alone_and_a_resumed_campaign_keeps_it():
    made = planned(repeats=20)
    kept = json.loads(json.dumps(made))
    again = planned(seed="renamed", kept=kept, repeats=20)
    assert again["seed"] == "first"
    assert order(again, again["seed"]) == order(made, "first") != order(made, "renamed")
    assert plan_changes.differences(kept, again) == []
    rules = policy({}, {"retry": {}, "requeue": 0})
    left = outstanding(made["cells"], Ledger("c", {}, {}), rules, made["seed"])["repeats"]
    logs = [repeat["log"] for repeat in plan.repeats(made["cells"], "first")]
    assert [repeat["log"] for repeat in left] == logs


def test_a_campaign_does_not_go_on_with_other_variants():
    other = {**VARIANTS, "lr": {"arguments": ["--learning-rate=0.01"], "about": "other"}}
    (difference,) = plan_changes.differences(planned(), planned(other))
    assert difference.startswith("benchmark pytorch: its variants were")


def test_rounds_that_a_duration_adds_are_in_random_order_too():
    made = planned(topology="1n1g", repeats=1)
    rules = {**policy({}, {"retry": {}, "requeue": 0}), "duration": 1000.0}
    records = {
        repeat["log"]: {**repeat, "ending": "ok", "reason": "", "facts": None, "seconds": 1.0}
        for repeat in plan.repeats(made["cells"])
    }
    left = outstanding(made["cells"], Ledger("c", records, {}, "s"), rules, "first")["repeats"]
    found = [repeat["cell"]["treatment"] for repeat in left]
    blocks = [tuple(found[start : start + 3]) for start in range(0, len(found), 3)]
    assert len(blocks) > 100
    assert {*blocks} == {*itertools.permutations(VARIANTS)}


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ([], "a dict is needed"),
        ({"a": {}}, "two variants or more"),
        ({2.1: {}, "b": {}}, "2.1 is not a name.*quote a number"),
        ({"a-b": {}, "b": {}}, "'a-b' is not a name"),
        ({"64px": {}, "b": {}}, "64px is a value of image_size"),
        ({"dali": {}, "b": {}}, "dali is a value of data_backend"),
        ({"bz8": {}, "b": {}}, "bz8 is a value of batch_size_per_device"),
        ({"none": {}, "b": {}}, "none is something else"),
        ({"time_to_train": {}, "b": {}}, "time_to_train is something else"),
        ({"a": {"env": {}}, "b": {}}, "a.yml: variants.a.env: no such key; there are about"),
        ({"a": [], "b": {}}, "variants.a: a mapping is needed"),
        ({"a": {"arguments": "-x"}, "b": {}}, "variants.a.arguments: a list is needed"),
        ({"a": {"arguments": [1]}, "b": {}}, "arguments: 1 is not a text: quote it"),
        ({"a": {"environment": {"A B": "1"}}, "b": {}}, "'A B' is not the name of a variable"),
        ({"a": {"environment": {"SCALEBENCH_RUN": "1"}}, "b": {}}, "is set by Scalebench"),
        ({"a": {"environment": {"A": 1}}, "b": {}}, "environment: 1 is not a text"),
        ({"a": {"environment": {"A": "{nonsense}"}}, "b": {}}, "{nonsense} is not one of"),
        ({"a": {"image": "an image"}, "b": {}}, "'an image' is not the name of an image"),
    ],
)
def test_what_cannot_be_a_variant_is_refused(variants, message):
    with pytest.raises(ValueError, match=message):
        with_variants(variants)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"packing": "nodes"}, "-e packing=nodes: variants are measured in turns"),
        ({"half_width": "0.02"}, "-e half_width=0.02.*give -e repeats="),
        ({"batch_size_per_device": "max"}, "-e batch_size_per_device=max: each variant"),
        ({"bisect": "true", "topology": "1n1g,2n1g"}, "and there are 3 variant.s. of 2 cell.s.: g"),
    ],
)
def test_what_would_not_be_in_turns_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        planned(**options)


def test_a_variant_with_an_image_has_a_container_of_its_own():
    variants = {"old": {}, "New": {"image": "nvcr.io/nvidia/tensorflow:20.12-tf1-py3"}}
    known = with_variants(variants, "tensorflow_ngc")
    asked = {"benchmark": "tensorflow_ngc", "recipe": "upstream", "data": "synthetic"}
    options = parse_options({**asked, "topology": "1n1g", "data_backend": "native"})
    nodes = cluster(1, gpus=1, container_engine="docker")
    made = plan.build(known, options, nodes)
    cells = made["cells"]
    names = {cell["treatment"]: cell["commands"]["node1"]["argv"] for cell in cells}
    assert "scalebench-tensorflow_ngc-upstream" in names["old"]
    assert "scalebench-tensorflow_ngc-upstream-New" in names["New"]
    assert {cell["treatment"]: cell.get("image") for cell in cells} == {
        "old": None,
        "New": "nvcr.io/nvidia/tensorflow:20.12-tf1-py3",
    }
    assert plan.containers(made["cells"]) == [
        "scalebench-tensorflow_ngc-upstream",
        "scalebench-tensorflow_ngc-upstream-New",
    ]
    prepared = [one["container"] for one in preparations(known, options, "", "gpu")]
    assert [(one["name"], one["image"], one["built"]) for one in prepared] == [
        (
            "scalebench-tensorflow_ngc-upstream",
            "nvcr.io/nvidia/tensorflow:20.03-tf1-py3",
            "scalebench/tensorflow_ngc-upstream:fed7ba99cde9",
        ),
        (
            "scalebench-tensorflow_ngc-upstream-New",
            "nvcr.io/nvidia/tensorflow:20.12-tf1-py3",
            "scalebench/tensorflow_ngc-upstream-new:fed7ba99cde9",
        ),
    ]


def test_an_image_for_a_recipe_without_a_container_is_refused():
    with pytest.raises(ValueError, match="variant b has an image, and the recipe runs in no"):
        planned({"a": {}, "b": {"image": "example.org/b:1"}})
