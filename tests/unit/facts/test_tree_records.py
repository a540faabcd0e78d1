"""Records of logs that no campaign made: the path's word held against the log's."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.facts.lognames import parse_log_path
from ansible_collections.scalebench.core.plugins.module_utils.facts.logtree import (
    as_record,
    expected_of_path,
    no_facts_record,
)

(LOG,) = parse_log_path("tf/bz128/2n8g/r50_b128_fp32_3.log")


def facts(**changes):
    base = {
        "identity": {"model": "resnet50_v1.5"},
        "ending": {"kind": "complete", "detail": ""},
        "throughput": 5000.0,
        "valid": True,
        "reason": "",
    }
    return {**base, **changes}


def test_record_has_the_cell_of_the_path():
    record = as_record(LOG, facts())
    assert (record["ending"], record["repeat"], record["log"]) == ("ok", 3, LOG["path"])
    assert record["cell"]["topology"] == "2n8g"
    assert record["cell"]["variant"] == "bz128"
    assert "path" not in record["cell"]


def test_expected_identity():
    assert expected_of_path(LOG, False) == {
        "batch_size_per_device": 128,
        "world_size": 16,
        "nodes": 2,
        "global_batch_size": 2048,
    }
    assert expected_of_path(LOG, True)["precision"] == "fp32"


def test_data_before_a_traceback_counts():
    record = as_record(LOG, facts(ending={"kind": "traceback", "detail": "KeyError: 'step'"}))
    assert record["ending"] == "ok"
    assert record["facts"]["ending"]["detail"] == "KeyError: 'step'"


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("out_of_memory", "out_of_memory"),
        ("nan_loss", "nan_loss"),
        ("traceback", "crashed"),
        ("killed", "crashed"),
        ("truncated", "invalid"),
        ("complete", "invalid"),
    ],
)
def test_no_throughput_has_the_ending_that_explains_it(kind, ending):
    found = facts(
        throughput=None,
        reason="7 observations, 120 needed",
        ending={"kind": kind, "detail": "the line"},
    )
    record = as_record(LOG, found)
    assert record["ending"] == ending
    assert "7 observations, 120 needed" in record["reason"]
    assert ("the line" in record["reason"]) == (ending != "invalid")


def test_contradiction_is_invalid_whatever_the_ending():
    found = facts(
        throughput=None,
        valid=False,
        reason="the log says batch_size_per_device 64, expected 128",
        ending={"kind": "traceback", "detail": "x"},
    )
    record = as_record(LOG, found)
    assert (record["ending"], record["reason"]) == ("invalid", found["reason"])


@pytest.mark.parametrize(
    ("model", "ending"),
    [
        ("ResNet50", "ok"),
        ("rn50", "ok"),
        ("PaddleClas_ResNet50_vd", "ok"),
        (None, "ok"),
        ("bert_base", "ok"),
        ("transformer_128", "ok"),
        ("vgg16", "invalid"),
        ("resnet101", "invalid"),
    ],
)
def test_another_model_than_the_path_names_is_invalid(model, ending):
    assert as_record(LOG, facts(identity={"model": model}))["ending"] == ending


def test_unreadable_log():
    record = no_facts_record(LOG, "Permission denied")
    assert (record["ending"], record["reason"], record["facts"]) == (
        "invalid",
        "Permission denied",
        None,
    )


@pytest.mark.parametrize(
    ("path", "identity", "said"),
    [
        ("bz8/1n1g/r50_b8_fp16_1.log", {"precision": "amp"}, "precision fp16, the log amp"),
        ("bz8/1n1g/r50_b8_float16_1.log", {"precision": "fp16"}, ""),
        ("bz8-xla/1n1g/r50_b8_amp_1.log", {"xla": False}, "xla True, the log False"),
        ("bz8/1n1g/r50_b8_amp_1.log", {"xla": True, "data": "real"}, ""),
    ],
)
def test_a_path_that_says_something_else_than_the_log_is_remarked(path, identity, said):
    (log,) = parse_log_path(path)
    warnings = as_record(log, facts(identity=identity))["warnings"]
    assert warnings == ([f"its path says {said}"] if said else [])
