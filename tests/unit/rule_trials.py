"""Simulated noise, and one trial of each statistical rule under it: whether it errs or finds."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    judge_gate,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.treatments import (
    compare_treatments,
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
from ansible_collections.scalebench.core.plugins.module_utils.stats.bisection import Bisection
from ansible_collections.scalebench.core.plugins.module_utils.stats.deficit import (
    deficit,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.drift import drift
from ansible_collections.scalebench.core.plugins.module_utils.stats.levels import new_day_ratio
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
from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import (
    median_interval,
)
from report_data import campaign, treated

Trial = Callable[[Random], bool]
Noise = Callable[..., list[float]]


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


def resembling(share: float) -> Noise:
    """Return the noise of repeats of which each resembles the one before, rounded as ours are."""

    def noise(chance: Random, count: int, cv: float = 0.01, level: float = 100.0) -> list[float]:
        return [round(level / 100 * value, 2) for value in alike(chance, count, share, cv)]

    return noise


def median(count: int) -> Trial:
    def trial(chance: Random) -> bool:
        found = median_interval(skewed(chance, count))
        return bool(found["low"] <= 100 <= found["high"])

    return trial


def within(share: float) -> Trial:
    def trial(chance: Random) -> bool:
        found = within_run(alike(chance, 100, share))
        return abs(found["mean"] - 100) <= found["half_width"] * found["mean"]

    return trial


def unsteady(share: float) -> Trial:
    return lambda chance: not steady_state(alike(chance, 120, share))["reached"]


def compared(
    cells: int, day_sd: float = 0.0, noise: Any = runs, repeats: tuple[int, int] = (5, 5)
) -> Trial:
    """Return whether any of some cells of two equal campaigns is called slower or faster."""

    def trial(chance: Random) -> bool:
        sides = [
            [noise(chance, count, level=100 * (1 + chance.gauss(0, day_sd))) for _ in range(cells)]
            for count in repeats
        ]
        p_values = [difference_p(log_ratio(*pair)) for pair in zip(*sides)]
        return min(holm(p_values)) <= 1 - LEVEL

    return trial


def equivalent(noise: Noise = runs) -> Trial:
    def trial(chance: Random) -> bool:
        ratio = log_ratio(noise(chance, 5, level=102.0), noise(chance, 5))
        return equivalence_p(ratio, 0.02) <= 0.05

    return trial


def new_day(
    days: int, day_sd: float, repeats: int = 5, of_a_day: int = 5, earlier: int = 0
) -> Trial:
    """Return whether a campaign is called slower or faster than equal ones of other days.

    :param earlier: days of history beside those of the baseline, of five repeats.
    """

    def trial(chance: Random) -> bool:
        ours, *known = (
            runs(chance, count, level=100 * (1 + chance.gauss(0, day_sd)))
            for count in (repeats, *[of_a_day] * days, *[5] * earlier)
        )
        return difference_p(new_day_ratio(ours, known[:days], known[days:])) <= 1 - LEVEL

    return trial


def stalled(chance: Random, count: int, level: float) -> list[float]:
    """Return throughputs of repeats of which every fifth is held up, by 20 % in the mean."""
    return [
        round(
            level
            * (1 + chance.gauss(0, 0.003))
            / (1 + (chance.expovariate(5) if chance.random() < 0.2 else 0)),
            2,
        )
        for _ in range(count)
    ]


def turns(rounds: int, slower: float = 0.0, noise: Any = runs) -> Trial:
    """Return whether variants that take turns differ; a round's noise is common to both."""

    def trial(chance: Random) -> bool:
        common = alike(chance, rounds, 0.8, 0.02)
        sides = {
            name: [noise(chance, 1, level=one * (1 - drop))[0] for one in common]
            for name, drop in (("a", 0.0), ("b", slower))
        }
        (cell,) = compare_treatments(build_results(*treated(sides)), 0.02)["cells"]
        return cell["p_difference"] <= 1 - LEVEL and (
            not slower or cell["finding"] in ("slower", "different within margin")
        )

    return trial


def bisected(right: bool, drop: float) -> Trial:
    """Return whether the first slow one of nine versions is named, or else a wrong one."""

    def trial(chance: Random) -> bool:
        names = [str(number) for number in range(9)]
        slow = names[chance.randrange(1, 9) :]
        search = Bisection(names)
        while search.batch:
            rounds = [1000 * (1 + chance.gauss(0, 0.02)) for _ in search.batch]
            share = 1 - drop * (search.candidate in slow)
            sides = (
                [slow_runs(chance, 1, 0.004, one * of)[0] for one in rounds] for of in (share, 1)
            )
            search.tell(list(zip(*sides)))
        return search.found == slow[0] if right else search.found not in (None, slow[0])

    return trial


def gate(
    metric: str,
    verdict: str,
    limit: float,
    cv: float,
    repeats: int = 3,
    cells: int = 1,
    noise: Noise = runs,
) -> Trial:
    """Return whether a rule has a verdict on some cells with the median 100 and that noise.

    ``noise``: what draws the repeats, normal ones if none.

    The second cell of ``min_speedup`` has a true speed-up of 1.8, and is the only one selected.
    """

    def trial(chance: Random) -> bool:
        speeds = {
            f"1n{number}g": noise(chance, repeats, cv, 100.0) for number in range(1, cells + 1)
        }
        where = {}
        if metric == "min_speedup":
            speeds["1n2g"], where = runs(chance, repeats, cv, 180.0), {"topology": "1n2g"}
        rule = {"metric": metric, "value": limit, "where": where}
        (judged,) = judge_gate(build_results(*campaign(speeds)), [rule], "x")["rules"]
        return bool(judged["verdict"] == verdict)

    return trial


def deficit_is(
    verdict: str,
    level: float,
    baselines: int,
    cv: float,
    day_sd: float,
    known: float | None = None,
    earlier: int = 0,
) -> Trial:
    """Return whether a verdict is given on a cluster at ``level`` of what it was.

    :param baselines: days of the baseline; ``earlier``: other days of history.
    """

    def trial(chance: Random) -> bool:
        levels = [1000 * (1 + chance.gauss(0, day_sd)) for _ in range(baselines + earlier + 1)]
        ours, *days = (
            slow_runs(chance, 5, cv, of * (level if at == 0 else 1)) for at, of in enumerate(levels)
        )
        theirs, others = days[:baselines], days[baselines:]
        return deficit(ours, theirs, 0.01, 0.01, known, others).verdict == verdict

    return trial


def any_fastest(chance: Random) -> bool:
    return fastest({name: runs(chance, 5) for name in "abcde"}) is not None


def ratio(noise: Any) -> Trial:
    def trial(chance: Random) -> bool:
        found = ratio_of_medians(noise(chance, 5), noise(chance, 5), LEVEL)
        return not found["low"] <= 1 <= found["high"]

    return trial


def published_row(chance: Random) -> bool:
    """Return whether a row with its runs is said to differ from an equal cell."""
    ours, theirs = runs(chance, 5), {"runs": dict(enumerate(runs(chance, 5)))}
    figure = sorted(theirs["runs"].values())[2]
    return bool(finding(ours, theirs, figure, 0.05, LEVEL)["beyond_repeats"])


def published_rows(chance: Random) -> bool:
    """Return whether any of 20 rows is beyond repeats, each with the batch size of one cell."""
    cell = {"framework": "pytorch", "model": "r50", "gpu": "V100", "topology": "1n1g"}
    cell.update(precision="fp32", xla=False, data_backend="native", data="real", image_size=224)
    measured, published = [], []
    for size in range(1, 21):
        ours, (theirs,) = runs(chance, 5), runs(chance, 1)
        measured.append({**cell, "batch_size_per_device": size, "runs": ours})
        published.append({**cell, "batch_size_per_device": size, "throughput": theirs})
    found = compare_published(measured, published, level=LEVEL)
    return any(one["beyond_repeats"] for one in found)


def impossible(repeats: int) -> Trial:
    def trial(chance: Random) -> bool:
        speeds = {"1n1g": runs(chance, repeats, 0.05), "1n2g": runs(chance, repeats, 0.05, 200.0)}
        plan, records = campaign(speeds)
        cells = build_results(plan, records)["cells"]
        return any(cell["invalid"] for cell in cells) or bool(broken_cells(cells))

    return trial


def marked(count: int, noise: Any = runs) -> Trial:
    return lambda chance: bool(trend.change_points(noise(chance, count)))


def marked_at_some_time(chance: Random) -> bool:
    values = runs(chance, trend.LEAST - 1 + trend.LOOKS)
    return any(trend.change_points(values[:end]) for end in range(trend.LEAST, len(values) + 1))


def any_of_20_trends(chance: Random) -> bool:
    return any(trend.common_change_points([runs(chance, 20) for _ in range(20)]))


def change_found(before: int, after: int, outlier: bool = False) -> Trial:
    def trial(chance: Random) -> bool:
        values = [*runs(chance, before), *runs(chance, after, level=95.0)]
        if outlier:
            values[chance.randrange(before)] = 70.0
        return any(abs(place - before) <= 1 for place in trend.change_points(values))

    return trial


def outlier(count: int) -> Trial:
    return lambda chance: bool(trend.outliers(runs(chance, count)))


def any_drift(noise: Any) -> Trial:
    def trial(chance: Random) -> bool:
        found = drift(range(30), noise(chance, 30))
        return found is not None and found.p_value < 0.01

    return trial


def loss_rises(steps: int, sd: float, to: float = 1.0) -> Trial:
    def trial(chance: Random) -> bool:
        losses = [
            (1 + (to - 1) * step / steps) * math.exp(chance.gauss(0, sd)) for step in range(steps)
        ]
        return bool(broken({}, {"printed": steps, "loss": _loss(losses)}))

    return trial
