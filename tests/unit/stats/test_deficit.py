"""A deficit of a stated share: its rates by simulation, cut runs, what cannot be decided."""

import math
import random
from collections import Counter
from dataclasses import replace

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats import detectable
from ansible_collections.scalebench.core.plugins.module_utils.stats.deficit import (
    FOUND,
    NOT_FOUND,
    UNDECIDED,
    baseline_spread,
    deficit,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.detectable import Spread

REPEATS = 5


def campaign(chance, cv, day, centre=1000.0, repeats=REPEATS):
    """Return a day's runs: cv and day in percent, 2 % of the runs slow by 3 %."""
    level = centre * (1 + chance.gauss(0, day) / 100)
    slow = [0.97 if chance.random() < 0.02 else 1.0 for _ in range(repeats)]
    return [round(level * one * (1 + chance.gauss(0, cv) / 100), 2) for one in slow]


def verdicts(campaigns, cv, day, draws, seed, known_day=None, earlier=0):
    """Return how often each verdict was given without a deficit and with one of 1 %.

    :param earlier: days of history beside the baseline.
    """
    chance = random.Random(seed)
    healthy, slower = Counter(), Counter()
    for _ in range(draws):
        baseline, history = (
            [campaign(chance, cv, day) for _ in range(count)] for count in (campaigns, earlier)
        )
        for count, centre in ((healthy, 1000.0), (slower, 990.0)):
            ours = campaign(chance, cv, day, centre)
            count[deficit(ours, baseline, 0.01, 0.01, known_day, history).verdict] += 1
    return healthy, slower


# The rows of the statistics review within its limit, by how many days are known. Of 400 draws at 95
# and 1 %, fewer than 366 and more than 12 are seen less than once in 1000 times, more than 34 at 5.
@pytest.mark.parametrize(
    ("campaigns", "earlier", "cv", "day"),
    [
        *((1, 0, 0.04, 0), (1, 0, 0.3, 0), (4, 0, 0.04, 0), (10, 0, 0.3, 0.1)),
        *((1, 29, 0.3, 0), (4, 8, 0.4, 0), (4, 8, 0.3, 0.1), (4, 26, 0.4, 0.1)),
        *((10, 20, 0.2, 0.2), (10, 20, 0.4, 0.1)),
    ],
)
def test_one_percent_is_found_where_the_limit_allows_it(campaigns, earlier, cv, day):
    healthy, slower = verdicts(campaigns, cv, day, 400, seed=17, earlier=earlier)
    assert slower[FOUND] >= 366
    assert healthy[FOUND] <= 12
    assert slower[NOT_FOUND] <= 34


@pytest.mark.parametrize(("campaigns", "earlier"), [(2, 0), (4, 0), (1, 11), (4, 8), (12, 0)])
@pytest.mark.parametrize(("cv", "day"), [(0.4, 0.2), (0.3, 0.6), (0.2, 2.0)])
def test_days_that_differ_too_much_decide_nothing_wrongly(campaigns, earlier, cv, day):
    """However few days are known: with four, 7 % of equal clusters were once found to be slower."""
    healthy, slower = verdicts(campaigns, cv, day, 400, seed=6, earlier=earlier)
    assert healthy[FOUND] <= 12
    assert slower[NOT_FOUND] <= 34
    assert slower[UNDECIDED] >= 40


def test_a_known_spread_of_days_that_is_too_large_decides_nothing_wrongly():
    """One baseline campaign of 5: day sd 0.4 % allows no rule to tell 1 % from nothing."""
    for day, least in ((0.2, 30), (0.4, 200)):
        healthy, slower = verdicts(1, 0.2, day, 400, seed=5, known_day=day / 100)
        assert healthy[FOUND] <= 12
        assert slower[NOT_FOUND] <= 34
        assert slower[UNDECIDED] >= least


STEADY = [[1000.0, 1001.0, 999.0, 1000.5, 999.5], [1001.0, 1000.0, 1002.0, 1000.5, 1001.5]]


def test_a_slow_run_is_cut_and_named_and_changes_nothing():
    ours = [1000.0, 1000.5, 970.0, 999.5, 1001.0]
    found = deficit(ours, [STEADY[0], [*STEADY[1], 968.0]], 0.01)
    assert (found.verdict, found.cut) == (NOT_FOUND, ((3,), (), (6,)))
    assert abs(found.change) < 0.002


def test_two_slow_runs_of_five_are_not_cut_away():
    found = deficit([1000.0, 970.0, 1000.5, 971.0, 1001.0], STEADY, 0.01)
    assert found.verdict == UNDECIDED
    assert found.cut[0] == (2, 4)
    assert found.reason.startswith("2 of 5 runs here lie further than 3.5 standard deviations")


def test_a_day_of_two_levels_decides_nothing_and_is_named():
    two_levels = [1000.0, 1000.5, 1030.0, 1030.5]
    ours = [1000.0, 1001.0, 999.0, 1000.5, 999.5]
    found = deficit(ours, [*STEADY, two_levels], 0.01)
    assert found.verdict == UNDECIDED
    assert found.cut == ((), (), (), (1, 2, 3, 4))
    assert found.reason.startswith("all 4 runs of one campaign or day lie further than 3.5")
    assert deficit(ours, STEADY, 0.01, earlier=[two_levels]).verdict == UNDECIDED
    assert baseline_spread([*STEADY, two_levels])[1] == [5, 5, 4]


def test_one_campaign_says_nothing_of_days():
    alone = deficit([989.0, 990.0, 991.0, 989.5, 990.5], STEADY[:1], 0.01)
    assert (alone.verdict, alone.same_day) == (FOUND, True)
    assert not deficit([990.0] * 5, STEADY, 0.01).same_day
    assert not deficit([990.0] * 5, STEADY[:1], 0.01, day=0.001).same_day


@pytest.mark.parametrize(
    ("ours", "baseline", "said"),
    [
        ([990.0], STEADY, "one repeat: a slow run cannot be told from a slow cluster"),
        ([990.0, 991.0], [[1000.0, 1001.0]], "4 repeats here and in the 1 baseline campaign(s)"),
        ([990.0, 991.0], [[1000.0], [1001.0]], "1 degree(s) of freedom are too few"),
    ],
)
def test_too_few_runs_decide_nothing(ours, baseline, said):
    found = deficit(ours, baseline, 0.01)
    assert found.verdict == UNDECIDED
    assert said in found.reason


def test_what_a_decision_needs_is_said():
    noisy = [[1000.0, 1010.0, 990.0, 1005.0, 995.0]] * 2
    ours = [994.5, 1004.5, 984.5, 999.5, 989.5]
    found = deficit(ours, noisy, 0.012, day=0.001)
    assert found.verdict == UNDECIDED
    assert found.reason == (
        "runs differ by 0.79 % and days by 0.1 % (standard deviation): 5 repeats and 2 baseline"
        " campaign(s) show a deficit of 2 %; 1.2 % needs 74 repeats or 14 repeats here and in"
        " each baseline campaign"
    )
    assert found.reason.count(f" {detectable.repeats_needed(found.spread, 5, [5, 5], 0.012)} ") == 1
    alone = deficit(ours, noisy[:1], 0.01).reason
    assert alone.startswith("runs differ by 0.79 % (standard deviation)")
    hopeless = deficit(ours, noisy[:1], 0.01, day=0.003).reason
    assert hopeless.endswith("days differ too much for 1 %, whatever the number of repeats")


def test_a_deficit_far_beyond_is_found_though_a_small_one_could_not():
    noisy = [[1000.0, 1010.0, 990.0, 1005.0, 995.0]] * 3
    ours = [900.0, 909.0, 891.0, 905.0, 896.0]
    assert deficit(ours, noisy, 0.001).verdict == FOUND
    assert deficit([1100.0, 1111.0, 1089.0], noisy, 0.001).verdict == NOT_FOUND


def test_equal_printed_values_are_not_known_better_than_their_last_digit():
    """At 0.37 samples/s the last digit is 2.7 %: nothing of 1 % can be said."""
    assert deficit([0.36] * 5, [[0.37] * 5] * 4, 0.01).verdict == UNDECIDED
    close = deficit([2.99, 2.99, 2.99, 3.0, 3.0], [[3.0] * 5] * 4, 0.004)
    assert close.verdict == UNDECIDED
    assert close.reason == "the last digit of the throughput is too coarse to show 0.4 %"


@pytest.mark.parametrize(
    ("ours", "baseline", "share", "alpha"),
    [
        ([], STEADY, 0.01, 0.01),
        ([1.0] * 5, [], 0.01, 0.01),
        ([1.0] * 5, [[1.0], []], 0.01, 0.01),
        ([0.0] * 5, STEADY, 0.01, 0.01),
        ([1.0] * 5, STEADY, 1, 0.01),
        ([1.0] * 5, STEADY, 0.01, 0.5),
    ],
)
def test_what_is_no_throughput_or_share_is_refused(ours, baseline, share, alpha):
    with pytest.raises(ValueError, match=r"throughput|share"):
        deficit(ours, baseline, share, alpha)


def test_the_reviews_limit():
    """Its sqrt(sw^2 (1/5 + 1/N) + sd^2 (1 + 1/K)) is the error; 0.25 % allows 1 %."""
    for campaigns, cv, day in ((1, 0.3, 0.1), (4, 0.2, 0.2), (10, 0.4, 0.1)):
        spread = Spread((cv / 100) ** 2, (day / 100) ** 2)
        review = cv**2 * (1 / 5 + 1 / (5 * campaigns)) + day**2 * (1 + 1 / campaigns)
        error = math.sqrt(detectable.prediction_variance(spread, 5, [5] * campaigns))
        assert error == pytest.approx(math.sqrt(review) / 100)
        assert detectable.detectable(spread, 5, [5] * campaigns) == pytest.approx(
            4 * error, rel=0.03
        )


def test_an_estimated_spread_shows_less_than_a_known_one():
    spread = Spread(0.003**2, 0.001**2)
    found = [detectable.detectable(replace(spread, days=days), 5, [5] * 4) for days in (30, 12, 4)]
    assert sorted(found) == found
    assert found[0] > detectable.detectable(spread, 5, [5] * 4)
    few = [detectable.detectable(replace(spread, run_freedom=n), 5, [5] * 4) for n in (100, 6)]
    assert sorted(few) == few


def test_needed_numbers_are_the_smallest_that_suffice():
    spread, found = Spread(0.005**2, 0.001**2), detectable.detectable
    repeats = detectable.repeats_needed(spread, 5, [5] * 4, 0.01)
    assert found(spread, repeats, [5] * 4) <= 0.01
    assert found(spread, repeats - 1, [5] * 4) > 0.01
    campaigns = detectable.baselines_needed(spread, 8, [5] * 4, 0.01)
    assert found(spread, 8, [5] * campaigns) <= 0.01
    assert found(spread, 8, [5] * (campaigns - 1)) > 0.01
    everywhere = detectable.repeats_everywhere(spread, 5, 4, 0.01)
    assert found(spread, everywhere, [everywhere] * 4) <= 0.01
    assert found(spread, everywhere - 1, [everywhere - 1] * 4) > 0.01
    few = Spread(0.002**2, 0.0015**2, 100, 6)
    days = detectable.days_needed(few, 5, [5] * 4, 0.01)
    assert found(replace(few, days=days), 5, [5] * 4) <= 0.01
    assert found(replace(few, days=days - 1), 5, [5] * 4) > 0.01
    assert f" or {days} days of history" in detectable.ways_to_find(few, 5, [5] * 4, 0.01)
    apart = Spread(0.001**2, 0.003**2)
    assert detectable.repeats_everywhere(apart, 5, 4, 0.01) is None
    assert detectable.repeats_needed(apart, 5, [5] * 4, 0.01) is None
    assert detectable.baselines_needed(apart, 5, [5] * 4, 0.01) is None
    assert detectable.days_needed(apart, 5, [5] * 4, 0.01) is None


def test_more_of_both_is_the_last_way():
    spread = Spread(0.002**2, 0.002**2)
    said = detectable.ways_to_find(spread, 5, [5] * 2, 0.0086)
    assert said == ("0.86 % needs 18 baseline campaigns and 16 repeats here and in each of them")
    assert detectable.detectable(spread, 16, [16] * 18) <= 0.0086
    assert detectable.detectable(spread, 15, [15] * 18) > 0.0086
