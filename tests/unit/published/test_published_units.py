"""Rows in another unit are never offered to a campaign, rows of its own model before others."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.published import compare, text
from ansible_collections.scalebench.core.plugins.module_utils.published.against_published import (
    against_published,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.conditions import (
    cell_conditions,
    judge,
    plain_conditions,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from published_data import all_rows, rows
from report_data import run
from test_against_published import built
from upstream_data import cells

BERT = {
    "benchmark": "bert",
    "framework": "pytorch",
    "model": "bert",
    "unit": "sequences/s",
    "gpu": "Tesla V100-SXM2-16GB",
    "topology": "4n8g",
    "precision": "fp32",
    "batch_size_per_device": 32,
    "xla": False,
    "data": "real",
    "data_backend": "native",
    "own_factors": {
        "model_size": "base",
        "sequence_length": 128,
        "sharding": "ddp",
        "dropout": True,
    },
    "runs": [2885.81, 2880.0, 2890.0],
}


def test_bert_is_compared_with_the_row_of_its_conditions():
    (found,) = compare.compare_published(BERT, all_rows())
    assert found["published"] == "dlperf_bert_pytorch_ngc/fp32_b32/4n8g"
    assert (found["verdict"], found["ratio"]) == ("comparable", 1.0)


def test_another_sequence_length_is_another_figure():
    longer = {**BERT, "own_factors": {**BERT["own_factors"], "sequence_length": 512}}
    (found,) = compare.compare_published(longer, rows("dlperf_bert_pytorch_ngc"))
    assert [one["condition"] for one in found["differences"]] == ["sequence_length"]


def test_a_factor_with_the_name_of_a_key_of_results_is_compared():
    own = {**BERT["own_factors"], "state": "warm", "throughput": 7}
    cell = {**BERT, "state": "measured", "throughput": 2885.81, "own_factors": own}
    row = {**cell, "own_factors": {**own, "state": "cold"}}
    verdict = judge(cell, row)
    assert verdict["differences"] == [
        {"condition": "state", "measured": "warm", "published": "cold"}
    ]
    assert plain_conditions(cell)["throughput"] == 7


@pytest.mark.parametrize(("compiled", "verdict"), [(False, "comparable"), (True, "not_known")])
def test_a_flag_that_is_false_is_not_missed_in_rows_without_it(compiled, verdict):
    cell = {**BERT, "own_factors": {**BERT["own_factors"], "compile": compiled}}
    (found,) = compare.compare_published(cell, rows("dlperf_bert_pytorch_ngc"))
    assert found["verdict"] == verdict


def test_a_row_without_clipping_is_not_taken_for_one_with_it():
    cell = {**BERT, "framework": "oneflow"}
    known = rows("dlperf_bert_oneflow_v0_2_0")
    noclip = [row for row in known if "without_clip" in row["own_factors"]]
    (found,) = compare.compare_published(cell, noclip)
    assert found["verdict"] == "not_known" and "without_clip: not stated" in found["why"]


@pytest.mark.parametrize("unit", ["images", "images/s"])
def test_images_are_compared_with_images_only(unit):
    cell = {**BERT, "model": "vgg16", "own_factors": {}, "image_size": 224, "unit": unit}
    (found,) = compare.compare_published(cell, all_rows())
    row = next(row for row in all_rows() if row["id"] == found["published"])
    assert row["unit"] in (None, "images")


def test_rows_of_the_own_model_come_before_nearer_ones_of_another():
    other = {**rows("dlperf_bert_pytorch_ngc")[4], "id": "other", "model": "t5"}
    own = {**other, "id": "own", "model": "bert", "gpu": "A100", "precision": "amp"}
    assert compare.compare_published(BERT, [other, own])[0]["published"] == "own"
    assert compare.compare_published(BERT, [other])[0]["published"] == "other"


def test_llama_is_compared_with_the_row_of_its_conditions():
    own = {"model_size": "8b", "sequence_length": 8192, "sharding": "fsdp", "compile": False}
    cell = {
        **{**BERT, "model": "llama", "unit": "tokens/s", "gpu": "NVIDIA H100-96GB"},
        **{"topology": "1n8g", "precision": "bf16", "batch_size_per_device": 2},
        "own_factors": {**own, "activation_checkpointing": "selective"},
    }
    (found,) = compare.compare_published(cell, all_rows())
    assert found["published"] == "torchtitan_h100_202412/8b_1n8g/1n8g"
    assert found["unknown"] == [
        {"condition": "data_backend", "measured": "native", "published": None}
    ]


BUSBW = {
    **{"benchmark": "all_reduce", "model": "collective", "framework": "pytorch", "unit": "MB/s"},
    **{"precision": "fp32", "batch_size_per_device": 1, "xla": False, "data": "synthetic"},
    **{"data_backend": "native", "gpu": "NVIDIA B200", "topology": "4n8g", "throughput": 350000.0},
    "own_factors": {"collective": "all_reduce", "message_bytes": 1 << 30},
}


def test_a_bus_bandwidth_is_compared_with_the_row_of_its_operation_and_size():
    (found,) = compare.compare_published(BUSBW, all_rows())
    assert found["published"] == "ml_engineering_all_reduce/b200_1073741824/4n8g"
    assert found["verdict"] == "comparable", found["why"]
    (row,) = [row for row in all_rows() if row["id"] == found["published"]]
    assert row["throughput"] == 361990.0
    other = {**BUSBW, "own_factors": {"collective": "all_gather", "message_bytes": 1 << 30}}
    (found,) = compare.compare_published(other, all_rows())
    assert found["verdict"] == "not_comparable"


def all_rows_by_id():
    return {row["id"]: row for row in all_rows()}


def test_a_cell_of_recipe_nccl_tests_is_compared_with_published_rows_of_nccl_tests():
    planned = cells("all_reduce", "nccl_tests").values()
    (cell,) = [
        one
        for one in planned
        if one["topology"] == "1n8g" and one["own_factors"]["message_bytes"] == 1 << 20
    ]
    runs = [run(cell, repeat, 18000.0) for repeat in (1, 2, 3)]
    for one in runs:
        one["facts"]["unit"] = "MB/s"
    for name, verdict in (("A100", "comparable"), ("NVIDIA A100-SXM4-80GB", "not_known")):
        nodes = {cell["node_names"][0]: {"gpus": [{"name": name}] * 8}}
        plan = {"campaign": "mine", "cells": [cell], "options": {}, "nodes": nodes}
        results = build_results(plan, runs)
        conditions = cell_conditions(results["cells"][0], results)
        (found,) = compare.compare_published(conditions, all_rows())
        assert found["published"] == "ml_engineering_all_reduce/a100_1048576/1n8g", name
        assert (found["verdict"], found["differences"]) == (verdict, []), found["why"]
    assert found["unknown"] == [
        {"condition": "gpu", "measured": "A100-SXM4-80GB", "published": "A100"}
    ]
    assert compare.compare(conditions, all_rows_by_id()[found["published"]], ["gpu"])["ratio"] == 1


def test_only_a_name_without_model_may_be_any_of_its_models():
    row = all_rows_by_id()["ml_engineering_all_reduce/b200_1073741824/4n8g"]
    pairs = {
        ("NVIDIA H200 NVL", "H200"): "not_known",
        ("NVIDIA H100", "H200"): "not_comparable",
        ("Tesla V100-SXM3-32GB-H", "V100-SXM3-32GB"): "not_comparable",
    }
    for (ours, theirs), verdict in pairs.items():
        found = compare.compare({**BUSBW, "gpu": ours}, {**row, "gpu": theirs})
        assert found["verdict"] == verdict, ours


def test_a_unit_that_nobody_published_is_named():
    results = built({"1n1g": [10.0, 11.0]}, model="tide", unit="waves/s")
    found = against_published(results, all_rows())
    assert (found["compared"], found["not_compared"]) == ([], [])
    assert [cell["topology"] for cell in found["other_units"]] == ["1n1g"]
    results["published"] = found
    (section,) = text.sections(results)
    assert "Nothing published is in the unit of" in str(section)
