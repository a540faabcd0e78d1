"""Variants of a campaign against the first: pairs, findings, corrections, and their words."""

import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.comparison.treatments import (
    compare_treatments,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.text import terminal_table
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import cell, treated

VARIANTS = {"pytorch": {"a": {}, "b": {"about": "with *b*", "environment": {"B": "1"}}, "c": {}}}


def results(of):
    return build_results(*treated(of, variants=VARIANTS))


def rounds(seed, ratios, count=10, noise=0.003, drift=0.02):
    """Return speeds of treatments that drift together, as ``results`` takes them."""
    chance = random.Random(seed)
    levels = [100 * (1 + chance.gauss(0, drift)) for _ in range(count)]
    return {
        name: [round(level * ratio * (1 + chance.gauss(0, noise)), 2) for level in levels]
        for name, ratio in ratios.items()
    }


def compared(of, margin=0.02):
    return compare_treatments(results(of), margin)["cells"]


def test_a_campaign_without_variants_is_not_compared():
    made = build_results({"campaign": "c", "cells": [cell("1n1g")]}, [])
    assert compare_treatments(made, 0.02) is None
    assert compare_treatments(results({"a": [100.0] * 3}), 0.02) is None


def test_each_variant_is_compared_with_the_first():
    found = compared(rounds(1, {"a": 1.0, "b": 0.97, "c": 1.0}))
    assert [(one["treatment"], one["against"]) for one in found] == [("b", "a"), ("c", "a")]
    assert [one["finding"] for one in found] == ["slower", "equivalent"]
    slower = found[0]
    assert slower["low"] < 0.97 < slower["high"] < 0.98
    assert slower["rounds"] == 10
    assert slower["p_signed_rank"] == 2 / 2**10


def test_only_rounds_that_both_have_are_pairs():
    of = rounds(1, {"a": 1.0, "b": 0.97})
    of["a"][3] = None
    of["b"] = of["b"][:8]
    (found,) = compared(of)
    assert (found["rounds"], found["without_pair"]) == (7, [4, 9, 10])


def test_one_common_round_decides_nothing():
    (found,) = compared({"a": [100.0, None], "b": [None, 100.0]})
    assert (found["rounds"], found["finding"], found["ratio"]) == (0, "undecided", None)
    (found,) = compared({"a": [100.0, 101.0], "b": [90.0]})
    assert found["finding"] == "undecided"
    assert found["why"].startswith("fewer than two rounds")


def test_ranks_decide_from_eight_rounds_on():
    """One round in eight that is far off to one side hides no difference."""
    ours = [99.0, 99.1, 98.9, 99.0, 99.05, 98.95, 99.02, 100.4]
    of = {"a": [100.0] * 8, "b": ours}
    (found,) = compared(of, margin=0.001)
    # Only the smallest difference has the other sign.
    assert found["p_difference"] == found["p_signed_rank"] == 2 * 2 / 2**8
    assert (found["finding"], found["why"]) == ("slower", "")
    (found,) = compared({name: speeds[:5] for name, speeds in of.items()}, margin=0.001)
    # Five rounds never reach 5 % by ranks: the t test decides.
    assert found["p_signed_rank"] == 2 / 2**5
    assert found["p_difference"] < 0.001
    assert found["finding"] == "slower"


def test_the_t_test_decides_where_so_many_comparisons_leave_ranks_nothing_to_find():
    names = "abcdefgh"
    of = rounds(1, {name: 1.0 if name == "a" else 0.97 for name in names}, count=8)
    found = compared(of)
    assert len(found) * 2 / 2**8 > 0.05
    assert {one["finding"] for one in found} == {"slower"}


def test_a_stall_of_the_other_side_does_not_turn_the_finding():
    """All rounds but one are 3 % slower; the mean is faster, and its interval says nothing."""
    levels = [100.0 + number / 10 for number in range(12)]
    of = {"a": levels, "b": [round(0.97 * level, 2) for level in levels]}
    of["a"] = [40.0, *levels[1:]]
    made = results(of)
    made["treatments"] = compare_treatments(made, 0.02)
    (found,) = made["treatments"]["cells"]
    assert found["ratio"] > 1
    assert found["low"] < 1 < found["high"]
    assert found["finding"] == "slower"
    assert found["why"] == "shown by the ranks of the rounds; the interval is that of their mean"
    assert found["why"] in " ".join(terminal_table(made).split())


def test_all_comparisons_are_corrected_together():
    of = rounds(3, {"a": 1.0, "b": 0.9975, "c": 1.0})
    alone = compare_treatments(results({name: of[name] for name in "ab"}), 0.02)["cells"][0]
    both = compare_treatments(results(of), 0.02)["cells"][0]
    assert both["p_difference"] == pytest.approx(2 * alone["p_difference"])


def test_an_impossible_margin_is_refused():
    with pytest.raises(ValueError, match="equivalence_margin=0"):
        compare_treatments(results(rounds(1, {"a": 1.0, "b": 1.0})), 0.0)


def test_equal_variants_are_called_different_as_rarely_as_stated():
    """Of 400 campaigns of three equal variants, at 5 % no more than 34 (1 in 10 000 by chance)."""
    wrong = 0
    for seed in range(400):
        findings = {one["finding"] for one in compared(rounds(seed, dict.fromkeys("abc", 1.0)))}
        wrong += bool(findings & {"slower", "faster", "different within margin"})
    assert 4 <= wrong <= 34


def test_all_outputs_tell_what_was_found():
    made = results(rounds(1, {"a": 1.0, "b": 0.97, "c": 1.0}))
    made["treatments"] = compare_treatments(made, 0.02)
    text = terminal_table(made)
    assert "variant b against a, 1n1g: slower, -" in text
    assert "variant c against a, 1n1g: equivalent within 2 %" in text
    (section,) = [one for one in page(made)["before"] if one["ident"] == "treatments"]
    assert section["title"] == "Variants in one campaign"
    assert len(section["tables"][0]["rows"]) == 2
    place = [column["name"] for column in section["tables"][0]["columns"]].index("p")
    shown = [float(row[place]["text"]) for row in section["tables"][0]["rows"]]
    found = [cell["p_difference"] for cell in made["treatments"]["cells"]]
    assert shown == pytest.approx(found, abs=5e-5)
    lines = ["".join(part["text"] for part in line) for line in section["notes"][0]["lines"]]
    assert lines == ["pytorch, a: nothing", "pytorch, b: with *b*; B=1", "pytorch, c: nothing"]
    assert "seed s" in section["paragraphs"][0]
