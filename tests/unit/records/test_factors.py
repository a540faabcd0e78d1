"""The table of factors, and factors that a benchmark declares."""

import re

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.comparison import across_text
from ansible_collections.scalebench.core.plugins.module_utils.comparison.across_frameworks import (
    across_frameworks,
)
from ansible_collections.scalebench.core.plugins.module_utils.records import factors
from ansible_collections.scalebench.core.plugins.module_utils.records.factors import (
    FACTORS,
    FORMER,
    Factor,
    factor_names,
    factor_values,
    factor_words,
    own_factor,
    own_values,
    parse_count,
    parse_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.headline import headline
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign

DECLARED = {"type": "count", "token": "s{}"}


def test_names_are_unique_and_every_choice_can_be_parsed():
    assert len(set(factor_names())) == len(FACTORS)
    assert [one.parse("1") for one in FACTORS if one.name == "global_batch_size"] == [1]


@pytest.mark.parametrize(
    ("name", "part", "value"),
    [
        ("batch_size_per_device", "bz128", "128"),
        ("data_backend", "dali", "dali"),
        ("data_backend", "recordio", "recordio"),
        ("data", "real", "real"),
        ("image_size", "64px", "64"),
    ],
)
def test_a_part_of_a_foreign_path_is_matched(name, part, value):
    patterns = {factor.name: factor.pattern for factor in (*FACTORS, *FORMER)}
    assert re.fullmatch(patterns[name], part).group(1) == value
    assert [other for other in patterns if re.fullmatch(patterns[other], part)] == [name]


def test_a_plain_value_is_in_no_path():
    assert not any(re.fullmatch(factor.pattern, "native") for factor in FACTORS)


def test_a_cell_has_the_tables_factors_and_its_own():
    values = factor_values({"precision": "amp", "own_factors": {"sequence_length": 128}})
    assert values["precision"] == "amp"
    assert values["global_batch_size"] is None
    assert values["sequence_length"] == 128


def test_a_factor_of_a_record_of_version_0_1_is_the_benchmarks_own():
    assert own_values({"image_size": 64}) == {"image_size": 64}
    assert own_values({"image_size": None, "own_factors": {"image_size": 32}})["image_size"] == 32
    before, now = ({"image_size": 64}, {"own_factors": {"image_size": 64}})
    assert factor_values(before) == factor_values(now)


def test_a_factor_that_a_record_is_older_than_has_its_plain_value(later_factor):
    assert factor_values({"xla": True})["accumulation"] == 1
    assert factor_values({"accumulation": None})["accumulation"] == 1
    assert factor_values({"accumulation": 4})["accumulation"] == 4


def test_the_factors_that_every_record_states_are_unknown_without_it():
    stated = ["precision", "batch_size_per_device", "xla", "data_backend", "data"]
    values = factor_values({"data": None})
    assert {values[name] for name in [*stated, "framework_version", "mode"]} == {None}


def test_an_own_factor_is_one_like_the_others():
    factor = own_factor("sequence_length", DECLARED)
    assert factor.parse("128") == 128
    assert factor.token.format(128) == "s128"
    assert factor.in_log
    assert factor.decisive
    assert factor.needed and not factor.means
    flag = own_factor("packed", {"type": "flag", "token": "packed"})
    assert flag.parse("yes") is True and flag.plain is False and not flag.needed


@pytest.mark.parametrize(
    ("kind", "token", "other"),
    [
        ("text", "{}", "scaling"),
        ("count", "bz{}", "batch_size_per_device"),
        ("flag", "xla", "xla"),
        ("flag", "dali", "data_backend"),
        ("count", "v{}", "framework_version"),
        ("count", "h{}", "heads"),
        ("count", "h1{}", "heads"),
        ("text", "h{}", "heads"),
        ("flag", "h8", "heads"),
    ],
)
def test_a_token_that_names_a_value_of_another_factor_is_refused(kind, token, other):
    beside = (*FACTORS, own_factor("heads", {"type": "count", "token": "h{}"}))
    with pytest.raises(ValueError, match=rf"size.token .* a value of {other} \("):
        own_factor("size", {"type": kind, "token": token}, others=beside)


@pytest.mark.parametrize(
    ("kind", "token"), [("count", "hidden{}"), ("count", "{}h"), ("text", "o{}"), ("flag", "h")]
)
def test_a_token_that_stands_apart_is_taken(kind, token):
    beside = (*FACTORS, own_factor("heads", {"type": "count", "token": "h{}"}))
    assert own_factor("size", {"type": kind, "token": token}, others=beside).token == token


@pytest.mark.parametrize(
    ("name", "declared", "words"),
    [
        ("precision", DECLARED, "precision is the name of something else"),
        ("topology", DECLARED, "topology is the name of something else"),
        ("Sequence", DECLARED, "'Sequence' is not a name for a factor"),
        ("length", {"type": "count"}, "length.token"),
        ("length", {"type": "count", "token": "s"}, "with {} for the value"),
        ("length", {"type": "count", "token": "s-{}"}, "letters and digits"),
        ("length", {"type": "count", "token": "{}{}"}, "letters and digits"),
        ("packed", {"type": "flag", "token": "a/b"}, "letters and digits"),
        ("packed", {"type": "flag", "token": "p{}"}, "without {} are needed"),
        ("length", {"type": "float", "token": "s{}"}, "not one of count, flag, text"),
        ("length", {**DECLARED, "in_log": True}, "unknown key in_log; known: type, token"),
        ("length", {**DECLARED, "unit": "x"}, "unknown key unit"),
        ("length", "count", "a mapping with type and token"),
    ],
)
def test_a_declaration_that_is_wrong_is_refused(name, declared, words):
    with pytest.raises(ValueError, match=words):
        own_factor(name, declared, reserved=["topology"])


NEW = (
    Factor("optimizer", parse_text, token="{}", needed=True, words="optimizer {}"),
    Factor("sparsity", parse_text, token="s{}", words="{} sparse"),
    Factor("hidden", parse_text, token="h{}"),
)


def test_words_are_those_of_the_table_or_the_name():
    # The name may be that of a plan that somebody else wrote.
    assert factor_words({"x{1}": "v", "a_b{:>9}": 2}) == {
        "x{1}": "x{1} v",
        "a_b{:>9}": "a b{:>9} 2",
    }
    values = {"image_size": 64, "data": None, "sequence_length": 128, "precision": "amp"}
    assert factor_words(values) == {
        "image_size": "image size 64",
        "sequence_length": "sequence length 128",
        "precision": "amp",
    }


@pytest.mark.parametrize(
    ("value", "said"), [(25, {}), ("25", {}), (10, {"bucket_mib": "bucket mib 10"})]
)
def test_a_plain_value_without_words_needs_no_mention(monkeypatch, value, said):
    """Else each head of a benchmark that has nothing of a new factor would name it."""
    new = Factor("bucket_mib", parse_count, token="bucket{}", plain=25)
    monkeypatch.setattr(factors, "FACTORS", (*FACTORS, new))
    assert factor_words({"bucket_mib": value}) == said


@pytest.mark.parametrize("packed", [False, True])
def test_a_flag_that_is_false_is_not_named_in_the_head(packed):
    plan, runs = campaign({"1n1g": [10.0]}, benchmark="a")
    results = build_results(plan, runs)
    results["cells"][0]["own_factors"] = {"packed": packed}
    head = headline(results)["what"][0]
    assert ("packed True" in head, "packed" in head) == (packed, packed)


def test_a_new_factor_is_named_in_sentences(monkeypatch):
    plans = []
    for benchmark in ("a", "b"):
        plan, runs = campaign({"1n1g": [10.0], "2n1g": [20.0]}, benchmark=benchmark, data="real")
        plans.append((plan, runs))
    cells = [cell for plan, _ in plans for cell in plan["cells"]]
    results = build_results({**plans[0][0], "cells": cells}, [r for _, runs in plans for r in runs])
    monkeypatch.setattr(factors, "FACTORS", (*FACTORS, *NEW))
    new = {"optimizer": "adam", "sparsity": "half", "hidden": "much"}
    for cell in results["cells"]:
        cell.update(new, own_factors={"sequence_length": 128})
    assert headline(results)["what"][0] == (
        "a: training of r50 in fp32, batch size 4 per device, weak scaling, real data,"
        " optimizer adam, half sparse, hidden much, sequence length 128, on 1n1g, 2n1g."
    )
    (table,) = across_frameworks([results])
    monkeypatch.setattr(across_text, "across_frameworks", lambda _: [{**table, **new}])
    (section,) = across_text.sections(results)
    assert section["tables"][0]["caption"].startswith(
        "r50 fp32, batch size 4 per device, optimizer adam, weak scaling, real data, half sparse,"
        " hidden much, sequence length 128: throughput"
    )
