"""The table of factors, and factors that a benchmark declares."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.records.factors import (
    FACTORS,
    factor_names,
    factor_values,
    own_factor,
)

DECLARED = {"type": "count", "token": "s{}"}


def test_names_are_unique_and_every_choice_can_be_parsed():
    assert len(set(factor_names())) == len(FACTORS)
    assert [one.parse("1") for one in FACTORS if one.name == "image_size"] == [1]


def test_a_cell_has_the_tables_factors_and_its_own():
    values = factor_values({"precision": "amp", "own_factors": {"sequence_length": 128}})
    assert values["precision"] == "amp"
    assert values["image_size"] is None
    assert values["sequence_length"] == 128


def test_an_own_factor_is_one_like_the_others():
    factor = own_factor("sequence_length", {**DECLARED, "in_log": True})
    assert factor.parse("128") == 128
    assert factor.token.format(128) == "s128"
    assert factor.in_log
    assert factor.decisive
    assert factor_names([factor])[-1] == "sequence_length"


@pytest.mark.parametrize(
    ("name", "declared", "words"),
    [
        ("precision", DECLARED, "precision is the name of something else"),
        ("topology", DECLARED, "topology is the name of something else"),
        ("Sequence", DECLARED, "'Sequence' is no name of a factor"),
        ("length", {"type": "count"}, "length.token"),
        ("length", {"type": "count", "token": "s"}, "with {} for the value"),
        ("packed", {"type": "flag", "token": "p{}"}, "a word without {}"),
        ("length", {"type": "float", "token": "s{}"}, "not one of count, flag, text"),
        ("length", {**DECLARED, "in_log": "yes"}, "neither true nor false"),
        ("length", {**DECLARED, "unit": "x"}, "unknown key unit"),
        ("length", "count", "a mapping with type and token"),
    ],
)
def test_a_declaration_that_is_wrong_is_refused(name, declared, words):
    with pytest.raises(ValueError, match=words):
        own_factor(name, declared, reserved=["topology"])
