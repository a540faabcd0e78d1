"""Every statistical rule of ours under simulated noise: what it states, and how to draw a trial.

One table for both users: the unit test makes few trials of each and holds their rate against what
is stated; tests/benchmarks/error_rates.py makes many and prints the table of docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import rule_trials as trials
from ansible_collections.scalebench.core.plugins.module_utils.stats.deficit import (
    FOUND,
    NOT_FOUND,
)
from rule_trials import Trial


@dataclass(frozen=True)
class Simulation:
    """One rule under one noise.

    ``stated``: the least and the most that the rate of True trials may be; None where a rule does
    not state the rate, because the noise is beyond what it assumes. ``trials``: of the benchmark,
    and ``few`` of the unit test.
    """

    rule: str
    rate: str
    noise: str
    stated: tuple[float, float] | None
    trial: Trial
    trials: int = 4000
    few: int = 300


def _at_most(rate: float) -> tuple[float, float]:
    return 0.0, rate


def _days(days: int, earlier: int) -> str:
    return f"{days} baseline days" + (f" and {earlier} of history" if earlier else "")


def _all() -> Iterator[Simulation]:
    for count, covers in ((3, 0.75), (5, 0.9375), (7, 0.984), (9, 0.961), (13, 0.9775)):
        yield Simulation(
            *("interval of a median", "covers", f"lognormal, {count} repeats"),
            *((covers - 0.005, covers + 0.005), trials.median(count)),
        )
    for share in (0, 0.5, 0.8, 0.9, 0.95):
        noise = f"100 steps, autocorrelation {share:g}"
        yield Simulation(
            "within a run, ±", "covers", noise, (0.92, 0.98), trials.within(share), 2000
        )
    for share, most in ((0, 0.12), (0.9, 0.28)):
        noise = f"120 steady steps, autocorrelation {share:g}"
        yield Simulation(
            "no steady state", "false alarms", noise, _at_most(most), trials.unsteady(share), 2000
        )
    for name, noise in (("normal, cv 1 %", trials.runs), ("lognormal, sd 5 %", trials.skewed)):
        yield Simulation(
            "speed-up, ratio of medians", "false alarms", name, _at_most(0.06), trials.ratio(noise)
        )
    yield Simulation(
        "*fastest* of five", "false alarms", "normal", _at_most(0.05), trials.any_fastest, 2000
    )
    yield Simulation(
        *("published row, its runs known", "beyond repeats", "normal"),
        *(_at_most(0.05), trials.published_row),
    )
    yield Simulation(
        *("20 published rows, one run each", "any beyond repeats", "normal"),
        *(_at_most(0.05), trials.published_rows, 1000, 100),
    )
    for repeats in (1, 2, 3, 5):
        yield Simulation(
            *("impossible speed-up", "false alarms", f"cv 5 %, {repeats} repeats"),
            *(_at_most(0.025), trials.impossible(repeats), 1500, 200),
        )
    yield from _of_comparisons()
    yield from _of_days()
    yield from _of_turns()
    yield from _of_bisections()
    yield from _of_deficits()
    yield from _of_gates()
    yield from _of_repeats_that_resemble()
    yield from _of_trends()
    for repeats in (("normal", trials.runs), ("lognormal", trials.skewed)):
        yield Simulation(
            "drift of 30 repeats",
            "false alarms",
            repeats[0],
            _at_most(0.01),
            trials.any_drift(repeats[1]),
        )
    like = trials.any_drift(lambda chance, count: trials.alike(chance, count, 0.3))
    yield Simulation("drift of 30 repeats", "false alarms", "autocorrelation 0.3", None, like, 1000)
    for steps, sd in ((40, 0.2), (40, 0.5), (120, 0.2)):
        noise = f"flat, {steps} steps, noise {sd:.0%}"
        yield Simulation(
            "rise of the loss", "false alarms", noise, _at_most(0.005), trials.loss_rises(steps, sd)
        )
    for steps in (40, 120):
        noise = f"doubles in {steps} steps, noise 20 %"
        rises = trials.loss_rises(steps, 0.2, 2.0)
        yield Simulation("rise of the loss", "found", noise, (0.8, 1.0), rises, 2000)


def _of_comparisons() -> Iterator[Simulation]:
    rule = "slower or faster, 5 and 5 repeats"
    for cells in (1, 10):
        yield Simulation(
            *(rule, "false alarms", f"normal, cv 1 %, {cells} cells, same day"),
            *(_at_most(0.05), trials.compared(cells)),
        )
    yield Simulation(
        *(rule, "false alarms", "lognormal, sd 5 %, same day", _at_most(0.055)),
        trials.compared(1, noise=trials.skewed),
    )
    for share, words in ((0.005, "half the cv"), (0.01, "the cv")):
        yield Simulation(
            rule, "false alarms", f"one baseline, day sd {words}", None, trials.compared(1, share)
        )
    for few, many in ((2, 5), (2, 20), (3, 20)):
        yield Simulation(
            *(f"slower or faster, {few} and {many} repeats", "false alarms"),
            *("normal, cv 1 %, 1 cells, same day", _at_most(0.055)),
            trials.compared(1, repeats=(few, many)),
        )
    yield Simulation(
        "equivalent within 2 %",
        "false",
        "true change 2 %, cv 1 %",
        _at_most(0.055),
        trials.equivalent(),
    )


def _of_days() -> Iterator[Simulation]:
    rule, rate = "slower or faster than several days", "false alarms"
    for days, share in ((2, 0.01), (4, 0.0), (4, 0.005), (4, 0.01), (10, 0.02)):
        yield Simulation(
            *(rule, rate, f"{days} days, cv 1 %, day sd {share:.1%}"),
            *(_at_most(0.055), trials.new_day(days, share)),
        )
    for days, repeats in ((10, 2), (10, 3), (4, 2), (2, 2)):
        yield Simulation(
            *(rule, rate),
            f"{days} days of 20 repeats, ours {repeats}, cv 1 %, day sd 0.3%",
            *(_at_most(0.055), trials.new_day(days, 0.003, repeats, 20), 2000),
        )
    for days, earlier, share in ((1, 11, 0.01), (1, 29, 0.003), (4, 26, 0.02)):
        yield Simulation(
            *(rule, rate),
            f"{_days(days, earlier)}, cv 1 %, day sd {share:.1%}",
            *(_at_most(0.055), trials.new_day(days, share, earlier=earlier)),
        )


def _of_turns() -> Iterator[Simulation]:
    rule = "variants that take turns"
    for rounds, drop, least in ((5, 0.03, 0.8), (10, 0.03, 0.95), (30, 0.01, 0.9)):
        noise = f"{rounds} rounds, cv 1 %, drift of 2 %"
        wrong, right = trials.turns(rounds), trials.turns(rounds, drop)
        yield Simulation(rule, "false alarms", noise, _at_most(0.055), wrong, 1000, 150)
        yield Simulation(rule, f"{100 * drop:g} % found", noise, (least, 1.0), right, 500, 100)
    for rounds, stated in ((5, None), (10, None), (30, (0.7, 1.0))):
        noise = f"{rounds} rounds, 20 % of repeats stalled, by 20 % in the mean"
        wrong = trials.turns(rounds, noise=trials.stalled)
        right = trials.turns(rounds, 0.03, trials.stalled)
        yield Simulation(rule, "false alarms", noise, _at_most(0.055), wrong, 1000, 150)
        yield Simulation(rule, "3 % found", noise, stated, right, 500, 100)


def _of_bisections() -> Iterator[Simulation]:
    for drop in (0.01, 0.03):
        noise = f"9 versions, slower by {drop:.0%}, cv 0.4 %, drift of 2 %"
        wrong, right = trials.bisected(False, drop), trials.bisected(True, drop)
        yield Simulation("bisecting versions", "wrong", noise, _at_most(0.05), wrong, 500, 100)
        least = (0.9, 1.0) if drop > 0.01 else None
        yield Simulation("bisecting versions", "right", noise, least, right, 500, 100)


def _of_deficits() -> Iterator[Simulation]:
    rule = "deficit of 1 %"
    for days, earlier, cv, day in (
        (1, 0, 0.0004, 0),
        (10, 0, 0.003, 0.001),
        (1, 29, 0.003, 0),
        (4, 8, 0.003, 0.001),
        (4, 26, 0.004, 0.001),
        (10, 20, 0.002, 0.002),
    ):
        noise = f"{_days(days, earlier)}, cv {cv:.2%}, day sd {day:.1%}, 2 % slow runs"
        none = trials.deficit_is(FOUND, 1.0, days, cv, day, earlier=earlier)
        there = trials.deficit_is(FOUND, 0.99, days, cv, day, earlier=earlier)
        yield Simulation(rule, "false alarms", noise, _at_most(0.012), none, 2000)
        # At the limit, 0.23 % standard deviation of the change, a little is left to the estimates.
        least = 0.935 if days + earlier == 30 and day else 0.945
        yield Simulation(rule, "found", noise, (least, 1.0), there, 2000)
    # No rule can tell 1 % from nothing here; few days must not say that it can.
    for days, earlier, cv, day in (
        *((2, 0, 0.004, 0.002), (4, 0, 0.003, 0.001), (4, 0, 0.004, 0.002), (4, 0, 0.003, 0.006)),
        *((1, 11, 0.002, 0.002), (1, 29, 0.003, 0.006), (10, 0, 0.003, 0.003)),
    ):
        noise = f"{_days(days, earlier)}, cv {cv:.1%}, day sd {day:.1%}: beyond what they show"
        for rate, verdict, level, stated in (
            ("false alarms", FOUND, 1.0, _at_most(0.012)),
            ("wrongly denied", NOT_FOUND, 0.99, _at_most(0.055)),
            ("found", FOUND, 0.99, None),
        ):
            trial = trials.deficit_is(verdict, level, days, cv, day, earlier=earlier)
            yield Simulation(rule, rate, noise, stated, trial, 2000)
    noise = "1 baselines, cv 0.3 %, day sd 0.6 %, stated by the rule"
    for rate, verdict, level, most in (
        ("false alarms", FOUND, 1.0, 0.012),
        ("wrongly denied", NOT_FOUND, 0.99, 0.055),
    ):
        trial = trials.deficit_is(verdict, level, 1, 0.003, 0.006, known=0.006)
        yield Simulation(rule, rate, noise, _at_most(most), trial, 2000)


def _of_repeats_that_resemble() -> Iterator[Simulation]:
    """No test of one day knows how repeats depend on each other: too few to estimate it."""
    for share in (0.3, 0.5):
        noise = trials.resembling(share)
        words = f"5 repeats, cv 1 %, autocorrelation {share:g}"
        for rule, rate, trial in (
            ("slower or faster, 5 and 5 repeats", "false alarms", trials.compared(1, noise=noise)),
            ("equivalent within 2 %", "false", trials.equivalent(noise)),
            *(
                (
                    *("gate, min_throughput", verdict),
                    trials.gate("min_throughput", verdict, 100.0, 0.01, 5, noise=noise),
                )
                for verdict in ("passed", "broken")
            ),
        ):
            where = f"at the limit, {words}" if rule.startswith("gate") else words
            yield Simulation(rule, rate, where, None, trial, 2000, 10)


def _of_gates() -> Iterator[Simulation]:
    for metric, limit, cv in (
        ("min_throughput", 100.0, 0.01),
        ("min_speedup", 1.8, 0.01),
        ("max_cv", 0.04, 0.04),
    ):
        for verdict in ("passed", "broken"):
            trial = trials.gate(metric, verdict, limit, cv)
            noise = f"exactly at the limit, cv {cv:.0%}, 3 repeats"
            yield Simulation(f"gate, {metric}", verdict, noise, _at_most(0.03), trial, 2000)
    noise = "8 cells exactly at the limit, cv 1 %, 5 repeats"
    trial = trials.gate("min_throughput", "broken", 100.0, 0.01, 5, 8)
    yield Simulation("gate, min_throughput", "broken", noise, _at_most(0.03), trial, 500, 100)
    # The rates of max_cv are those of normal runs: a slow one belongs to the spread that it limits.
    trial = trials.gate("max_cv", "broken", 0.003, 0.003, 10, noise=trials.slow_runs)
    noise = "cv 0.3 % and limit 0.3 %, 10 repeats, 2 % slow runs"
    yield Simulation("gate, max_cv", "broken", noise, None, trial, 2000)
    for words, noise_of, cv in (
        ("lognormal, sd 5 %", trials.skewed, 0.05),
        ("lognormal, sd 30 %", trials.skewed, 0.3),
        ("cv 4 %, autocorrelation 0.3", trials.resembling(0.3), 0.04),
        ("cv 4 %, autocorrelation 0.5", trials.resembling(0.5), 0.04),
    ):
        limit = math.sqrt(math.expm1(cv**2)) if noise_of is trials.skewed else cv
        for verdict in ("passed", "broken"):
            trial = trials.gate("max_cv", verdict, limit, cv, 10, noise=noise_of)
            noise = f"exactly at the limit, {words}, 10 repeats"
            yield Simulation("gate, max_cv", verdict, noise, None, trial, 2000, 10)
    trial = trials.gate("max_cv", "broken", 0.05, 0.04)
    noise = "cv 4 %, limit 5 %, 3 repeats"
    yield Simulation("gate, max_cv", "broken", noise, _at_most(0.025), trial, 2000)


def _of_trends() -> Iterator[Simulation]:
    rule, rate = "change point", "false alarms"
    one_look = _at_most(0.0125)
    for count in (11, 25):
        noise = f"normal, {count} campaigns, one look"
        yield Simulation(rule, rate, noise, one_look, trials.marked(count), 800, 60)
    noise = "lognormal, sd 50 %, 25 campaigns, one look"
    heavy = trials.marked(25, lambda chance, count: trials.skewed(chance, count, 0.5))
    yield Simulation(rule, rate, noise, one_look, heavy, 800, 60)
    noise = "normal, a look after each of 25 campaigns"
    yield Simulation(rule, rate, noise, _at_most(0.05), trials.marked_at_some_time, 150, 4)
    yield Simulation(
        rule, "any mark", "20 trends of 20 campaigns", one_look, trials.any_of_20_trends, 150, 4
    )
    for share in (0.3, 0.5):
        noise = f"25 campaigns, autocorrelation {share:g}, one look"
        like = trials.marked(
            25, lambda chance, count, share=share: trials.alike(chance, count, share)
        )
        yield Simulation(rule, rate, noise, None, like, 300, 5)
    for before, after in ((6, 6), (10, 4), (20, 3)):
        noise = f"change of 5 % after {before}, {after} after it, cv 1 %"
        found = trials.change_found(before, after)
        yield Simulation(rule, "found", noise, (0.9, 1.0), found, 200, 20)
    found = trials.change_found(10, 5, outlier=True)
    noise = "change of 5 % after 10, 5 after it, one outlier"
    yield Simulation(rule, "found", noise, (0.9, 1.0), found, 200, 20)
    for count in (8, 10, 20, 50):
        yield Simulation(
            *("outlier", "levels with one", f"normal, {count} campaigns"),
            *(_at_most(0.015), trials.outlier(count), 4000, 500),
        )


SIMULATIONS = tuple(_all())


def rate(simulation: Simulation, trials: int, seed: int = 17) -> float:
    """Return the share of trials that are True."""
    chance = Random(f"{seed} {simulation.rule} {simulation.noise} {simulation.rate}")
    return sum(simulation.trial(chance) for _ in range(trials)) / trials
