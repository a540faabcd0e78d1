"""Invariants of one repeat: each is broken by what breaks it, and by no honest run."""

from __future__ import annotations

from functools import cache
from math import nan
from pathlib import Path
from random import Random
from statistics import fmean, harmonic_mean, median

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import (
    _loss as measured,
)
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.running.invariants import (
    RULES,
    broken,
)
from ansible_collections.scalebench.core.plugins.module_utils.strategies._series import (
    chosen_run,
    series,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

LOGS = Path(__file__).parents[4] / "shared" / "logs"
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="the raw logs are not beside this tree")

CELL = {
    "batch_size_per_device": 4,
    "nodes": 2,
    "devices_per_node": 1,
    "warmup": 20,
    "iterations": 100,
    "unit": "images/s",
    "model": "r50",
}
# Of a run on two busy cores: the mean of its rates is 5.5 % above images / time.
FACTS = {
    "identity": {
        "world_size": 2,
        "nodes": 2,
        "devices_per_node": 1,
        "batch_size_per_device": 4,
        "global_batch_size": 8,
        "ranks_seen": 2,
    },
    "ending": {"kind": "complete", "detail": ""},
    "throughput": 37.86,
    "harmonic_throughput": 35.9,
    "wall_clock_throughput": 35.9,
    "unit": "images/s",
    "scope": "global",
    "count": 100,
    "printed": 120,
    "summary": {"iterations": 120, "seconds": 27.203},
    "loss": {"first": 7.0098, "last": 1.0205, "first_quarter": 1.203, "last_quarter": 1.021},
    "time_to_train": None,
}
IDENTITY = FACTS["identity"]
MODEL = {
    **{"parameters": 9, "embedding_parameters": 2, "layers": 2, "hidden": 8},
    "sequence_length": 16,
}
BROKEN = [
    ("throughput_positive", {"throughput": 0.0}, "0.0 images/s"),
    ("throughput_positive", {"throughput": nan}, "nan"),
    # One rank's rate where all ranks' was meant, and the other way round.
    ("rate_times_time", {"throughput": 18.9, "harmonic_throughput": 17.95}, "44.6 s by the pri"),
    ("rate_times_time", {"throughput": 75.7, "harmonic_throughput": 71.8}, "11.1 s by the pri"),
    # A rate that is too low shows without the harmonic mean.
    ("rate_times_time", {"throughput": 18.9, "harmonic_throughput": None}, "42.3 s by the pri"),
    # 22.3 s by the printed rates; the bounds are 19.1 s and 34.4 s.
    ("rate_times_time", {"wall_clock_throughput": 42.5}, "and took 18.8 s by the clock"),
    ("rate_times_time", {"wall_clock_throughput": 23.0}, "and took 34.8 s by the clock"),
    ("unit", {"unit": "sequences/s"}, "the log counts sequences/s, planned were images/s"),
    (
        "model",
        {"identity": {**IDENTITY, "architecture": {**MODEL, "name": "llama"}}},
        "the model's name is llama in the log, planned was r50",
    ),
    (
        "model_flops",
        {
            "identity": {**IDENTITY, "architecture": MODEL},
            "summary": {"figures": {"flops_per_second": 1.0}},
        },
        "the log says 1 FLOP/s; by its model and its throughput they are",
    ),
    ("ranks", {"identity": {**IDENTITY, "world_size": 1}}, "world_size is 1, planned were 2"),
    ("ranks", {"identity": {**IDENTITY, "ranks_seen": 1}}, "ranks_seen is 1"),
    ("ranks", {"identity": {**IDENTITY, "global_batch_size": 4}}, "global_batch_size is 4"),
    ("ranks", {"identity": {**IDENTITY, "nodes": 1}}, "nodes is 1"),
    ("steps", {"count": 99}, "99 iterations were measured, planned were 100"),
    ("steps", {"summary": {"iterations": 100}}, "100 iterations, planned were 20 + 100"),
    ("loss_finite", {"loss": {"first": 7.0, "last": nan}}, "the last loss is nan"),
    ("loss_finite", {"ending": {"kind": "nan_loss", "detail": "loss nan"}}, "loss nan"),
    ("loss_falling", {"loss": {"first_quarter": 7.0, "last_quarter": 8.9}}, "7 in the first"),
]


@pytest.mark.parametrize(("rule", "change", "words"), BROKEN)
def test_each_rule_is_broken_by_what_it_names(rule, change, words):
    (found,) = broken(CELL, {**FACTS, **change})
    assert found["rule"] == rule
    assert words in found["detail"]


def test_every_rule_is_tested_and_documented_with_its_source():
    assert {rule for rule, _change, _words in BROKEN} == set(RULES)
    assert all(rule["about"] and rule["source"] for rule in RULES.values())


@pytest.mark.parametrize("clock", [35.9, 41.5, 23.5])
def test_an_honest_run_breaks_nothing(clock):
    assert broken(CELL, {**FACTS, "wall_clock_throughput": clock}) == []


@given(st.sets(st.sampled_from(sorted(FACTS))), st.sets(st.sampled_from(sorted(CELL))))
def test_missing_facts_break_no_rule(facts_gone, cell_gone):
    facts = {key: value for key, value in FACTS.items() if key not in facts_gone}
    cell = {key: value for key, value in CELL.items() if key not in cell_gone}
    assert broken(cell, facts) == []
    assert broken(cell, {**FACTS, **dict.fromkeys(facts_gone)}) == []


def timed(seconds, factor=1.0):
    """Facts of steps of these times, their rates printed ``factor`` times too high."""
    rates = [factor * 8 / second for second in seconds]
    return {
        **FACTS,
        "throughput": fmean(rates),
        "harmonic_throughput": harmonic_mean(rates),
        "wall_clock_throughput": 8 * len(seconds) / sum(seconds),
    }


SECONDS = st.lists(st.floats(0.05, 60), min_size=100, max_size=100)


@given(SECONDS)
def test_no_noise_of_step_times_breaks_an_honest_run(seconds):
    assert broken(CELL, timed(seconds)) == []
    assert broken(CELL, {**timed(seconds), "harmonic_throughput": None}) == []


@given(SECONDS, st.sampled_from([0.125, 0.25, 0.5, 2, 4, 8]))
def test_no_noise_hides_a_rate_that_is_wrong_by_the_number_of_devices(seconds, factor):
    assert [found["rule"] for found in broken(CELL, timed(seconds, factor))] == ["rate_times_time"]


def test_time_between_steps_is_allowed_and_that_of_evaluations_unlimited():
    saved = {**FACTS, "wall_clock_throughput": 26.0}
    evaluated = {**FACTS, "wall_clock_throughput": 5.0, "time_to_train": {"evaluations": 1}}
    assert broken(CELL, saved) == broken(CELL, evaluated) == []


def test_a_clock_of_whole_seconds_and_uneven_rates_are_allowed():
    # 80 images in 1.6 s, of which the clock printed one; and 10 % less time than printed.
    short = {**FACTS, "count": 10, "harmonic_throughput": 50.0, "wall_clock_throughput": 80.0}
    assert broken({**CELL, "iterations": 10, "warmup": 110}, short) == []
    assert broken(CELL, {**FACTS, "wall_clock_throughput": 39.5}) == []


def test_the_rate_of_one_device_is_not_compared_with_the_clock_of_all():
    one = {"scope": "per_device", "throughput": 18.9, "harmonic_throughput": 17.95}
    assert broken(CELL, {**FACTS, **one}) == []


def test_a_loss_of_few_steps_is_not_judged():
    loss = {"first_quarter": 7.1, "last_quarter": 13.1}
    assert broken(CELL, {**FACTS, "loss": loss, "printed": 20}) == []


def test_noise_of_a_flat_loss_is_no_rise_and_a_doubling_is():
    chance = Random(6)
    told = found = 0
    for _ in range(400):
        flat = [chance.lognormvariate(0, 0.5) for _ in range(40)]
        rising = [chance.gauss(1, 0.2) * (1 + step / 40) for step in range(40)]
        told += bool(broken({}, {"printed": 40, "loss": measured(flat)}))
        found += bool(broken({}, {"printed": 40, "loss": measured(rising)}))
    assert told <= 3
    assert found >= 320


def test_the_noise_of_a_rise_is_the_rank_test_of_scipy():
    chance = Random(7)
    for count in (10, 25, 60):
        # Rounded, so that some are equal: our z leaves their correction out.
        first, last = ([round(chance.gauss(5, 1), 2) for _ in range(count)] for _ in range(2))
        middle = [5.0] * (2 * count)
        theirs = stats.mannwhitneyu(last, first, alternative="greater", use_continuity=False)
        z = measured([*first, *middle, *last])["rise_z"]
        assert stats.norm.sf(z) == pytest.approx(theirs.pvalue, abs=0.03)


def quarters(losses):
    quarter = len(losses) // 4
    return {
        "first_quarter": median(losses[:quarter]),
        "last_quarter": median(losses[-quarter:]),
    }


@cache
def real_logs():
    """Cell, facts and losses of every raw log that can be read."""
    found = []
    for path in sorted(LOGS.rglob("*")):
        if path.suffix not in (".log", ".txt"):
            continue
        reading = logs.read(path.read_bytes(), name=path.name)
        facts = log_facts(reading, "auto")
        identity = facts["identity"]
        nodes = identity.get("nodes") or 1
        cell = {
            "batch_size_per_device": identity.get("batch_size_per_device"),
            "nodes": nodes,
            "devices_per_node": (identity.get("world_size") or 0) // nodes or None,
        }
        losses = list(series(reading, chosen_run(reading, -1), "loss", "first"))
        found.append((cell, facts, losses))
    return found


@needs_logs
def test_no_real_log_breaks_an_invariant():
    judged = real_logs()
    assert len(judged) > 90
    for cell, facts, _losses in judged:
        assert broken(cell, facts) == []
    known = ("harmonic_throughput", "wall_clock_throughput", "count")
    compared = [
        facts["harmonic_throughput"] / facts["wall_clock_throughput"]
        for cell, facts, _losses in judged
        if all(facts[key] for key in known) and all(cell.values())
    ]
    assert len(compared) > 80
    assert 0.97 < min(compared) <= max(compared) < 1.04


@needs_logs
def test_no_real_loss_rises_at_whatever_length_the_run_is_cut():
    lengths = 0
    for _cell, _facts, losses in real_logs():
        for length in range(4, min(len(losses), 130) + 1):
            facts = {"printed": length, "loss": quarters(losses[:length])}
            assert broken({}, facts) == []
            lengths += 1
    assert lengths > 3000


def test_a_sample_of_several_units_counts_as_these():
    """Sequences of 16 tokens: the rates are in tokens/s, and so is what they are reckoned from."""
    cell = {**CELL, "unit": "tokens/s", "units_per_sample": 16}
    rates = ("throughput", "harmonic_throughput", "wall_clock_throughput")
    facts = {
        **FACTS,
        "unit": "tokens/s",
        **{key: 16 * FACTS[key] for key in rates},
    }
    assert broken(cell, facts) == broken(CELL, FACTS) == []
    (finding,) = broken(cell, {**facts, "wall_clock_throughput": 200.0})
    assert finding["rule"] == "rate_times_time"
    assert finding["detail"].startswith("12800 tokens need ")


def test_a_log_in_another_unit_is_refused():
    sequences = {**FACTS, "unit": "sequences/s"}
    assert broken({**CELL, "unit": "sequences/s"}, sequences) == []
    assert broken({**CELL, "unit": "sequences/s"}, {**FACTS, "unit": "samples/s"}) == []
    (usual,) = broken({**CELL, "unit": "sequences/s"}, {**FACTS, "unit": "images/s"})
    assert "the usual unit of iteration_line: pass unit=" in str(usual)
    in_samples = {**FACTS, "unit": "samples/s", "wall_clock_throughput": None}
    tokens = {**CELL, "unit": "tokens/s", "units_per_sample": 16}
    assert [one["rule"] for one in broken(tokens, in_samples)] == ["unit"]
