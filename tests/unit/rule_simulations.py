"""Every statistical rule of ours under simulated noise: what it states, and how to draw a trial.

One table for both users: the unit test makes few trials of each and holds their rate against what
is stated; tests/benchmarks/error_rates.py makes many and prints the table of docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    judge_gate,
)
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import _loss
from ansible_collections.scalebench.core.plugins.module_utils.facts.within_run import (
    steady_state,
    within_run,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.compare import (
    compare_published,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.checks import (
    broken as broken_cells,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.running.invariants import broken
from ansible_collections.scalebench.core.plugins.module_utils.stats import change_points as trend
from ansible_collections.scalebench.core.plugins.module_utils.stats.deficit import (
    FOUND,
    NOT_FOUND,
    UNDECIDED,
    deficit,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.drift import drift
from ansible_collections.scalebench.core.plugins.module_utils.stats.levels import (
    new_day_interval,
    new_day_ratio,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.log_ratio import (
    difference_p,
    equivalence_p,
    holm,
    log_ratio,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.median_ratio import (
    LEVEL,
    fastest,
    finding,
    ratio_of_medians,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.paired import sign_flip_p
from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import (
    median_interval,
)
from report_data import campaign

Trial = Callable[[Random], bool]


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


def runs(chance: Random, count: int, cv: float = 0.01, level: float = 100.0) -> list[float]:
    """Return throughputs with normal noise, rounded as ours are."""
    return [round(level * (1 + chance.gauss(0, cv)), 2) for _ in range(count)]


def skewed(chance: Random, count: int, sd: float = 0.05, level: float = 100.0) -> list[float]:
    """Return throughputs with lognormal noise."""
    return [round(level * math.exp(chance.gauss(0, sd)), 2) for _ in range(count)]


def slow_runs(chance: Random, count: int, cv: float, level: float = 1000.0) -> list[float]:
    """Return throughputs of which 2 % are slow by 3 %."""
    return [
        round(level * (0.97 if chance.random() < 0.02 else 1) * (1 + chance.gauss(0, cv)), 2)
        for _ in range(count)
    ]


def alike(chance: Random, count: int, share: float, cv: float = 0.01) -> list[float]:
    """Return values of which each keeps a share of the deviation of the one before (AR(1))."""
    deviation, found = chance.gauss(0, 1), []
    for _ in range(count):
        found.append(100 * (1 + cv * deviation))
        deviation = share * deviation + math.sqrt(1 - share**2) * chance.gauss(0, 1)
    return found


def _median(count: int) -> Trial:
    def trial(chance: Random) -> bool:
        found = median_interval(skewed(chance, count))
        return bool(found["low"] <= 100 <= found["high"])

    return trial


def _within(share: float) -> Trial:
    def trial(chance: Random) -> bool:
        found = within_run(alike(chance, 100, share))
        return abs(found["mean"] - 100) <= found["half_width"] * found["mean"]

    return trial


def _unsteady(share: float) -> Trial:
    return lambda chance: not steady_state(alike(chance, 120, share))["reached"]


def _compared(cells: int, day_sd: float = 0.0, noise: Any = runs) -> Trial:
    """Return whether any of some cells of two equal campaigns is called slower or faster."""

    def trial(chance: Random) -> bool:
        sides = [
            [noise(chance, 5, level=100 * (1 + chance.gauss(0, day_sd))) for _ in range(cells)]
            for _ in range(2)
        ]
        p_values = [difference_p(log_ratio(*pair)) for pair in zip(*sides)]
        return min(holm(p_values)) <= 1 - LEVEL

    return trial


def _equivalent(chance: Random) -> bool:
    return equivalence_p(log_ratio(runs(chance, 5, level=102.0), runs(chance, 5)), 0.02) <= 0.05


def _days(chance: Random, count: int, day_sd: float) -> list[list[float]]:
    return [runs(chance, 5, level=100 * (1 + chance.gauss(0, day_sd))) for _ in range(count)]


def _new_day(days: int, day_sd: float) -> Trial:
    def trial(chance: Random) -> bool:
        ours, *baseline = _days(chance, days + 1, day_sd)
        return difference_p(new_day_ratio(ours, baseline)) <= 1 - LEVEL

    return trial


def _predicted(chance: Random) -> bool:
    ours, *baseline = _days(chance, 5, 0.01)
    low, high = new_day_interval(baseline, 5, LEVEL)
    return low <= math.exp(sum(map(math.log, ours)) / 5) <= high


def _turns(rounds: int, slower: float = 0.0) -> Trial:
    """Return whether variants that take turns differ; a round's noise is common to both."""

    def trial(chance: Random) -> bool:
        common = alike(chance, rounds, 0.8, 0.02)
        pairs = [
            (runs(chance, 1, level=one * (1 - slower))[0], runs(chance, 1, level=one)[0])
            for one in common
        ]
        return sign_flip_p(*zip(*pairs)) <= 1 - LEVEL

    return trial


def _deficit(
    verdict: str,
    level: float,
    baselines: int,
    cv: float,
    day_sd: float,
    known: float | None = None,
) -> Trial:
    def trial(chance: Random) -> bool:
        levels = [1000 * (1 + chance.gauss(0, day_sd)) for _ in range(baselines + 1)]
        ours, *theirs = (
            slow_runs(chance, 5, cv, of * (level if at == 0 else 1)) for at, of in enumerate(levels)
        )
        return deficit(ours, theirs, 0.01, day=known).verdict == verdict

    return trial


def _gate(metric: str, verdict: str, limit: float, cv: float) -> Trial:
    def trial(chance: Random) -> bool:
        plan, records = campaign({"1n1g": runs(chance, 3, cv)})
        rule = {"metric": metric, "value": limit, "where": {}}
        (judged,) = judge_gate(build_results(plan, records), [rule], "x")["rules"]
        return bool(judged["verdict"] == verdict)

    return trial


def _fastest(chance: Random) -> bool:
    return fastest({name: runs(chance, 5) for name in "abcde"}) is not None


def _ratio(noise: Any) -> Trial:
    def trial(chance: Random) -> bool:
        found = ratio_of_medians(noise(chance, 5), noise(chance, 5), LEVEL)
        return not found["low"] <= 1 <= found["high"]

    return trial


def _published(chance: Random) -> bool:
    ours, theirs = runs(chance, 5), {"runs": dict(enumerate(runs(chance, 5)))}
    figure = sorted(theirs["runs"].values())[2]
    return bool(finding(ours, theirs, figure, 0.05, LEVEL)["beyond_repeats"])


def _published_rows(chance: Random) -> bool:
    """Whether any of 20 rows is beyond repeats, each with the batch size of one cell."""
    cell = {"framework": "pytorch", "model": "r50", "gpu": "V100", "topology": "1n1g"}
    cell.update(precision="fp32", xla=False, data_backend="native", data="real", image_size=224)
    measured, published = [], []
    for size in range(1, 21):
        ours, (theirs,) = runs(chance, 5), runs(chance, 1)
        measured.append({**cell, "batch_size_per_device": size, "runs": ours})
        published.append({**cell, "batch_size_per_device": size, "throughput": theirs})
    found = compare_published(measured, published, level=LEVEL)
    return any(one["beyond_repeats"] for one in found)


def _impossible(repeats: int) -> Trial:
    def trial(chance: Random) -> bool:
        speeds = {"1n1g": runs(chance, repeats, 0.05), "1n2g": runs(chance, repeats, 0.05, 200.0)}
        plan, records = campaign(speeds)
        cells = build_results(plan, records)["cells"]
        return any(cell["invalid"] for cell in cells) or bool(broken_cells(cells))

    return trial


def _marked(count: int, noise: Any = runs) -> Trial:
    return lambda chance: bool(trend.change_points(noise(chance, count)))


def _marked_at_some_time(chance: Random) -> bool:
    values = runs(chance, trend.LEAST - 1 + trend.LOOKS)
    return any(trend.change_points(values[:end]) for end in range(trend.LEAST, len(values) + 1))


def _any_of_20_trends(chance: Random) -> bool:
    return any(trend.common_change_points([runs(chance, 20) for _ in range(20)]))


def _change_found(before: int, after: int, outlier: bool = False) -> Trial:
    def trial(chance: Random) -> bool:
        values = [*runs(chance, before), *runs(chance, after, level=95.0)]
        if outlier:
            values[chance.randrange(before)] = 70.0
        return any(abs(place - before) <= 1 for place in trend.change_points(values))

    return trial


def _outlier(count: int) -> Trial:
    return lambda chance: bool(trend.outliers(runs(chance, count)))


def _drifts(noise: Any) -> Trial:
    def trial(chance: Random) -> bool:
        found = drift(range(30), noise(chance, 30))
        return found is not None and found.p_value < 0.01

    return trial


def _loss_rises(steps: int, sd: float, to: float = 1.0) -> Trial:
    def trial(chance: Random) -> bool:
        losses = [
            (1 + (to - 1) * step / steps) * math.exp(chance.gauss(0, sd)) for step in range(steps)
        ]
        return bool(broken({}, {"printed": steps, "loss": _loss(losses)}))

    return trial


def _at_most(rate: float) -> tuple[float, float]:
    return 0.0, rate


def _all() -> Iterator[Simulation]:
    for count, covers in ((3, 0.75), (5, 0.9375), (7, 0.984), (9, 0.961), (13, 0.9775)):
        yield Simulation(
            *("interval of a median", "covers", f"lognormal, {count} repeats"),
            *((covers - 0.005, covers + 0.005), _median(count)),
        )
    for share in (0, 0.5, 0.8, 0.9, 0.95):
        noise = f"100 steps, autocorrelation {share:g}"
        yield Simulation("within a run, ±", "covers", noise, (0.92, 0.98), _within(share), 2000)
    for share, most in ((0, 0.12), (0.9, 0.28)):
        noise = f"120 steady steps, autocorrelation {share:g}"
        yield Simulation(
            "no steady state", "false alarms", noise, _at_most(most), _unsteady(share), 2000
        )
    for name, noise in (("normal, cv 1 %", runs), ("lognormal, sd 5 %", skewed)):
        yield Simulation(
            "speed-up, ratio of medians", "false alarms", name, _at_most(0.06), _ratio(noise)
        )
    yield Simulation("*fastest* of five", "false alarms", "normal", _at_most(0.05), _fastest, 2000)
    yield Simulation(
        "published row, its runs known", "beyond repeats", "normal", _at_most(0.05), _published
    )
    yield Simulation(
        *("20 published rows, one run each", "any beyond repeats", "normal"),
        *(_at_most(0.05), _published_rows, 1000, 100),
    )
    for repeats in (1, 2, 3, 5):
        yield Simulation(
            *("impossible speed-up", "false alarms", f"cv 5 %, {repeats} repeats"),
            *(_at_most(0.025), _impossible(repeats), 1500, 200),
        )
    yield from _of_comparisons()
    yield from _of_trends()
    for repeats in (("normal", runs), ("lognormal", skewed)):
        yield Simulation(
            "drift of 30 repeats", "false alarms", repeats[0], _at_most(0.01), _drifts(repeats[1])
        )
    like = _drifts(lambda chance, count: alike(chance, count, 0.3))
    yield Simulation("drift of 30 repeats", "false alarms", "autocorrelation 0.3", None, like, 1000)
    for steps, sd in ((40, 0.2), (40, 0.5), (120, 0.2)):
        noise = f"flat, {steps} steps, noise {sd:.0%}"
        yield Simulation(
            "rise of the loss", "false alarms", noise, _at_most(0.005), _loss_rises(steps, sd)
        )
    for steps in (40, 120):
        noise = f"doubles in {steps} steps, noise 20 %"
        rises = _loss_rises(steps, 0.2, 2.0)
        yield Simulation("rise of the loss", "found", noise, (0.8, 1.0), rises, 2000)


def _of_comparisons() -> Iterator[Simulation]:
    rule = "slower or faster, 5 and 5 repeats"
    for cells in (1, 10):
        yield Simulation(
            *(rule, "false alarms", f"normal, cv 1 %, {cells} cells, same day"),
            *(_at_most(0.05), _compared(cells)),
        )
    yield Simulation(
        *(rule, "false alarms", "lognormal, sd 5 %, same day", _at_most(0.055)),
        _compared(1, noise=skewed),
    )
    for share, words in ((0.005, "half the cv"), (0.01, "the cv")):
        yield Simulation(
            rule, "false alarms", f"one baseline, day sd {words}", None, _compared(1, share)
        )
    yield Simulation(
        "equivalent within 2 %", "false", "true change 2 %, cv 1 %", _at_most(0.055), _equivalent
    )
    for days, share in ((2, 0.01), (4, 0.0), (4, 0.005), (4, 0.01), (10, 0.02)):
        yield Simulation(
            *("slower or faster than several days", "false alarms"),
            *(f"{days} days, cv 1 %, day sd {share:.1%}", _at_most(0.055), _new_day(days, share)),
        )
    yield Simulation(
        *("interval of a new day", "covers", "4 days, cv 1 %, day sd 1 %", (0.94, 1.0), _predicted)
    )
    rule = "variants that take turns"
    for rounds in (6, 10):
        noise = f"{rounds} rounds, cv 1 %, drift of 2 %"
        yield Simulation(rule, "false alarms", noise, _at_most(0.05), _turns(rounds), 2000)
        found = _turns(rounds, 0.03)
        yield Simulation(rule, "3 % found", noise, (0.85, 1.0), found, 1000)
    for baselines, cv, day in (
        (1, 0.0004, 0),
        (4, 0.003, 0.001),
        (4, 0.004, 0),
        (10, 0.002, 0.002),
    ):
        noise = f"{baselines} baselines, cv {cv:.2%}, day sd {day:.1%}, 2 % slow runs"
        none = _deficit(FOUND, 1.0, baselines, cv, day)
        there = _deficit(FOUND, 0.99, baselines, cv, day)
        yield Simulation("deficit of 1 %", "false alarms", noise, _at_most(0.012), none, 2000)
        yield Simulation("deficit of 1 %", "found", noise, (0.945, 1.0), there, 2000)
    # No rule can tell 1 % from nothing here, and four days do not show by how much they differ.
    noise = "4 baselines, cv 0.3 %, day sd 0.6 %: beyond the limit"
    for rate, verdict, level in (
        ("false alarms", FOUND, 1.0),
        ("wrongly denied", NOT_FOUND, 0.99),
        ("cannot be decided", UNDECIDED, 0.99),
    ):
        trial = _deficit(verdict, level, 4, 0.003, 0.006)
        yield Simulation("deficit of 1 %", rate, noise, None, trial, 2000)
    noise = "1 baselines, cv 0.3 %, day sd 0.6 %, stated by the rule"
    for rate, verdict, level, most in (
        ("false alarms", FOUND, 1.0, 0.012),
        ("wrongly denied", NOT_FOUND, 0.99, 0.055),
    ):
        trial = _deficit(verdict, level, 1, 0.003, 0.006, known=0.006)
        yield Simulation("deficit of 1 %", rate, noise, _at_most(most), trial, 2000)
    for metric, limit, cv in (("min_throughput", 100.0, 0.01), ("max_cv", 0.04, 0.04)):
        for verdict in ("passed", "broken"):
            trial = _gate(metric, verdict, limit, cv)
            noise = f"exactly at the limit, cv {cv:.0%}, 3 repeats"
            yield Simulation(f"gate, {metric}", verdict, noise, _at_most(0.03), trial, 2000)
    trial = _gate("max_cv", "broken", 0.05, 0.04)
    noise = "cv 4 %, limit 5 %, 3 repeats"
    yield Simulation("gate, max_cv", "broken", noise, _at_most(0.025), trial, 2000)


def _of_trends() -> Iterator[Simulation]:
    rule, rate = "change point", "false alarms"
    one_look = _at_most(0.0125)
    for count in (11, 25):
        noise = f"normal, {count} campaigns, one look"
        yield Simulation(rule, rate, noise, one_look, _marked(count), 800, 60)
    noise = "lognormal, sd 50 %, 25 campaigns, one look"
    heavy = _marked(25, lambda chance, count: skewed(chance, count, 0.5))
    yield Simulation(rule, rate, noise, one_look, heavy, 800, 60)
    noise = "normal, a look after each of 25 campaigns"
    yield Simulation(rule, rate, noise, _at_most(0.05), _marked_at_some_time, 150, 4)
    yield Simulation(
        rule, "any mark", "20 trends of 20 campaigns", one_look, _any_of_20_trends, 150, 4
    )
    for share in (0.3, 0.5):
        noise = f"25 campaigns, autocorrelation {share:g}, one look"
        like = _marked(25, lambda chance, count, share=share: alike(chance, count, share))
        yield Simulation(rule, rate, noise, None, like, 300, 5)
    for before, after in ((6, 6), (10, 4), (20, 3)):
        noise = f"change of 5 % after {before}, {after} after it, cv 1 %"
        found = _change_found(before, after)
        yield Simulation(rule, "found", noise, (0.9, 1.0), found, 200, 20)
    found = _change_found(10, 5, outlier=True)
    noise = "change of 5 % after 10, 5 after it, one outlier"
    yield Simulation(rule, "found", noise, (0.9, 1.0), found, 200, 20)
    for count in (8, 10, 20, 50):
        yield Simulation(
            *("outlier", "levels with one", f"normal, {count} campaigns"),
            *(_at_most(0.015), _outlier(count), 4000, 500),
        )


SIMULATIONS = tuple(_all())


def rate(simulation: Simulation, trials: int, seed: int = 17) -> float:
    """Return the share of trials that are True."""
    chance = Random(f"{seed} {simulation.rule} {simulation.noise} {simulation.rate}")
    return sum(simulation.trial(chance) for _ in range(trials)) / trials
