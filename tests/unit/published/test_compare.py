"""Measured against published: what may be compared, and what is found where it may."""

import dataclasses

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.published import compare, conditions
from ansible_collections.scalebench.core.plugins.module_utils.records import factors
from published_data import all_rows

PUBLISHED = {
    "id": "doc/fp32/1n8g",
    "kind": "reference",
    "framework": "NGC TensorFlow",
    "model": "r50",
    "gpu": "V100-SXM2-16GB",
    "topology": "1n8g",
    "precision": "fp32",
    "batch_size_per_device": 128,
    "xla": False,
    "data_backend": "dali",
    "data": "real",
    "image_size": 224,
    "throughput": 1000.0,
}
CELL = {
    **PUBLISHED,
    "id": "cell",
    "framework": "tensorflow",
    "gpu": "NVIDIA Tesla V100-SXM2-16GB",
    "throughput": None,
    "runs": [1000.0, 1001.0, 999.0, 1002.0, 998.0],
}
OTHERS = {
    "framework": "PaddlePaddle",
    "model": "r50_v1b",
    "gpu": "A100-SXM4-40GB",
    "topology": "2n4g",
    "precision": "amp",
    "batch_size_per_device": 256,
    "xla": True,
    "data_backend": "native",
    "data": "synthetic",
    "image_size": 32,
}


def test_same_conditions_give_a_ratio():
    result = compare.compare(CELL, PUBLISHED)
    assert (result["verdict"], result["ratio"], result["finding"]) == (
        "comparable",
        1.0,
        "equivalent",
    )
    assert (result["low"], result["high"]) == pytest.approx((0.9961, 1.0039), abs=1e-4)
    assert result["beyond_repeats"] is False
    assert result["why"] == (
        "interval 0.9961 to 1.0039 of the ratio at level 0.9, margin 0.02; the published figure is"
        " taken for one run as noisy as the measured ones; without how machines, sites and days"
        " differ"
    )


@pytest.mark.parametrize("plain", [1, None])
def test_a_factor_that_no_row_states_is_plain(later_factor, monkeypatch, plain):
    later = dataclasses.replace(later_factor, plain=plain)
    monkeypatch.setattr(factors, "FACTORS", (*factors.FACTORS[:-1], later))
    monkeypatch.setattr(conditions, "DECISIVE", (*conditions.DECISIVE, later.name))
    monkeypatch.setattr(conditions, "_OPTIONAL", (*conditions._OPTIONAL, later.name))
    assert compare.compare(CELL, PUBLISHED)["verdict"] == "comparable"
    assert len(compare.compare_published(CELL, [PUBLISHED, {**PUBLISHED, "id": "other"}])) == 2
    result = compare.compare({**CELL, "accumulation": 4}, PUBLISHED)
    assert result["verdict"] == ("not_known" if plain is None else "not_comparable")
    assert compare.compare({**CELL, "accumulation": plain}, PUBLISHED)["verdict"] == "comparable"


@pytest.mark.parametrize(("condition", "value"), OTHERS.items())
def test_each_decisive_condition_that_differs_forbids_a_ratio(condition, value):
    result = compare.compare({**CELL, condition: value}, PUBLISHED)
    assert result["verdict"] == "not_comparable"
    assert result["ratio"] is result["low"] is result["high"] is result["finding"] is None
    told = {row["condition"] for row in result["differences"]}
    assert told == ({condition} if condition != "topology" else {"nodes", "devices_per_node"})
    assert "measured" in result["why"] and "published" in result["why"]
    assert (result["measured_throughput"], result["published_throughput"]) == (1000.0, 1000.0)


@pytest.mark.parametrize("condition", [c for c in OTHERS if c != "topology"])
def test_a_condition_that_a_side_does_not_state_is_not_known(condition):
    for ours, theirs in (({condition: None}, {}), ({}, {condition: None})):
        result = compare.compare({**CELL, **ours}, {**PUBLISHED, **theirs})
        assert (result["verdict"], result["ratio"]) == ("not_known", None)
        assert result["why"] == f"{condition}: not stated"


def test_a_cpu_is_not_a_gpu_that_is_not_stated():
    result = compare.compare({**CELL, "gpu": None, "device": "cpu"}, PUBLISHED)
    assert result["why"] == "gpu: none (CPU) measured, V100-SXM2-16GB published"


def test_a_waived_difference_is_told():
    result = compare.compare({**CELL, "data_backend": "native"}, PUBLISHED, ["data_backend"])
    assert (result["verdict"], result["ratio"]) == ("comparable", 1.0)
    assert result["waived"] == [
        {"condition": "data_backend", "measured": "native", "published": "dali"}
    ]
    with pytest.raises(ValueError, match="cannot waive 'driver': use one of framework, model"):
        compare.compare(CELL, PUBLISHED, ["driver"])


@pytest.mark.parametrize(
    ("factor", "finding"),
    [
        (1.0, "equivalent"),
        (1.019, "undecided"),
        (1.03, "faster"),
        (0.9, "slower"),
        (0.98, "undecided"),
    ],
)
def test_finding_needs_the_whole_interval(factor, finding):
    cell = {**CELL, "runs": [factor * speed for speed in CELL["runs"]]}
    assert compare.compare(cell, PUBLISHED)["finding"] == finding


def test_one_repeat_decides_nothing():
    alone = compare.compare({**CELL, "runs": [1200.0]}, PUBLISHED)
    assert (alone["ratio"], alone["finding"]) == (1.2, "undecided")
    assert alone["beyond_repeats"] is None
    assert alone["why"] == "no interval: one repeat shows no noise"
    without_runs = {**CELL, "runs": None, "throughput": 1200.0}
    assert compare.compare(without_runs, PUBLISHED)["finding"] == "undecided"


def test_a_small_difference_beyond_repeats_is_told_and_is_within_the_margin():
    cell = {**CELL, "runs": [1.01 * speed for speed in CELL["runs"]]}
    result = compare.compare(cell, PUBLISHED)
    assert (result["beyond_repeats"], result["finding"]) == (True, "equivalent")


def test_a_published_median_of_more_runs_narrows_the_interval():
    row = {**PUBLISHED, "repeats": 5, "statistic": "median"}
    narrow, wide = compare.compare(CELL, row), compare.compare(CELL, PUBLISHED)
    assert wide["low"] < narrow["low"] < 1 < narrow["high"] < wide["high"]
    assert "taken for a median of 5 runs" in narrow["why"]
    unknown = compare.compare(CELL, {**row, "repeats": None})
    assert unknown["low"] == wide["low"]


def test_published_runs_widen_the_interval():
    wide = {str(i): speed for i, speed in enumerate((900.0, 950.0, 1000.0, 1050.0, 1100.0))}
    result = compare.compare(CELL, {**PUBLISHED, "runs": wide})
    assert result["finding"] == "undecided" and result["why"].endswith(
        "noise of the runs of both sides; without how machines, sites and days differ"
    )
    assert result["low"] < 0.96 and result["high"] > 1.04


def test_no_throughput_is_an_error():
    with pytest.raises(ValueError, match="measured set cell: no throughput"):
        compare.compare({**CELL, "runs": []}, PUBLISHED)
    with pytest.raises(ValueError, match="published row doc/fp32/1n8g: no throughput"):
        compare.compare(CELL, {**PUBLISHED, "throughput": None})


def test_times_to_different_losses_are_not_compared():
    timed = {"time_to_train_seconds": 100.0, "target_accuracy": None, "target_loss": 3.3}
    theirs = {**PUBLISHED, **timed}
    same, other = (
        compare.compare({**CELL, **timed, "target_loss": loss}, theirs)["measures"][0]
        for loss in (3.3, 3.4)
    )
    assert same["compared"] == 1.0
    assert other["compared"] is None
    assert other["why"] == "target loss 3.4 measured, loss 3.3 published"


def test_a_row_with_a_factor_that_the_cell_does_not_state_is_no_exact_one():
    accumulated = {**PUBLISHED, "id": "accumulated", "own_factors": {"passes": 16}}
    (only,) = compare.compare_published(CELL, [accumulated, PUBLISHED])
    assert only["published"] == PUBLISHED["id"]


def test_comparable_rows_come_alone_and_else_the_nearest():
    published = [{**PUBLISHED, "id": "far", "data": "synthetic", "xla": True}, PUBLISHED]
    found = compare.compare_published([CELL, {**CELL, "precision": "amp"}], published)
    assert [(row["cell"], row["published"], row["verdict"]) for row in found] == [
        ("cell", "doc/fp32/1n8g", "comparable"),
        ("cell", "doc/fp32/1n8g", "not_comparable"),
    ]
    assert len(compare.compare_published({**CELL, "precision": "amp"}, published, nearest=5)) == 2
    assert compare.compare_published(CELL, []) == []


def test_every_published_row_is_comparable_with_itself_or_says_what_is_unknown():
    for row in all_rows():
        if not row["throughput"]:
            continue
        result = compare.compare(row, row)
        if result["verdict"] == "comparable":
            assert result["ratio"] == 1.0
        else:
            assert result["verdict"] == "not_known" and result["unknown"]


def test_reference_000_is_found_for_its_own_conditions():
    cell = {**CELL, "runs": [2706.1, 2711.4, 2702.8, 2698.3, 2715.0]}
    found = compare.compare_published(cell, all_rows())
    assert [row["published"] for row in found] == [
        "reference_000_tensorflow_ngc/fp32_b128_dali/1n8g"
    ]
    assert found[0]["finding"] == "equivalent"


def test_a_cell_of_this_machine_is_never_given_a_ratio():
    cell = {**CELL, "device": "cpu", "gpu": None, "image_size": 32, "data": "synthetic"}
    found = compare.compare_published(cell, all_rows(), nearest=3)
    assert len(found) == 3 and {row["verdict"] for row in found} == {"not_comparable"}


@pytest.mark.parametrize(
    ("row", "condition", "plain"),
    [
        ({"gpu": "NVIDIA H100 80GB HBM3"}, "gpu", "H100-80GB-HBM3"),
        ({"gpu": "Tesla V100-SXM2-32GB"}, "gpu", "V100-SXM2-32GB"),
        ({"framework": "TensorFlow 2.x"}, "framework", "tensorflow"),
        ({"framework": "MXNet gluon-cv"}, "framework", "mxnet"),
        ({"framework": "tinygrad"}, "framework", "tinygrad"),
        ({"model": "rn50"}, "model", "r50"),
        ({"model": "ResNet-50"}, "model", "r50"),
        ({"model": "PaddleClas_ResNet50"}, "model", "r50"),
        ({"model": "resnet50_v1.5"}, "model", "r50"),
        ({"model": "resnet50_v1b"}, "model", "r50_v1b"),
        ({"model": "BERT"}, "model", "bert"),
        ({"precision": "pure_fp16"}, "precision", "fp16"),
        ({"topology": "16n8g"}, "nodes", 16),
        ({"topology": "16n8g"}, "devices_per_node", 8),
        ({"nodes": 3, "topology": "16n8g"}, "nodes", 3),
        ({}, "xla", None),
    ],
)
def test_plain_conditions(row, condition, plain):
    assert conditions.plain_condition(condition, row) == plain


def test_a_row_is_slower_only_if_all_rows_together_show_it():
    noisy = [905.0, 930.0, 915.0, 940.0, 935.0]
    cells = [{**CELL, "batch_size_per_device": size} for size in range(1, 60)]
    rows = [{**PUBLISHED, "batch_size_per_device": size} for size in range(1, 60)]
    cells[0]["runs"] = noisy
    (alone,) = compare.compare_published(cells[0], rows[:1], level=0.95)
    assert (alone["beyond_repeats"], alone["finding"]) == (True, "slower")
    among = compare.compare_published(cells, rows, level=0.95)[0]
    assert (among["beyond_repeats"], among["finding"]) == (False, "undecided")
    assert among["high"] == alone["high"] < 0.98


def test_equivalence_is_tested_at_5_percent_as_between_campaigns():
    """The 90 % interval lies within the margin, the 95 % interval that is shown does not."""
    cell = {**CELL, "runs": [1000.0, 1004.7, 995.3, 1009.5, 990.5]}
    result = compare.compare(cell, PUBLISHED, level=0.95)
    assert result["low"] < 0.98
    assert result["high"] > 1.02
    assert result["finding"] == "equivalent"
