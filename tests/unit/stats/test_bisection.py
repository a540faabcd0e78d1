"""Bisecting versions: its steps, and by simulation how often it names a wrong one."""

import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats.bisection import Bisection
from scipy import stats

NAMES = [f"v{number}" for number in range(9)]


def bisected(seed, first_slow, drop=0.03, noise=0.004, names=NAMES, **more):
    """Return a bisection that ended; rounds drift, one run in 50 is slow by 3 %."""
    chance = random.Random(seed)
    search = Bisection(names, **more)

    def speed(level, version):
        slow = first_slow is not None and names.index(version) >= first_slow
        odd = 0.97 if chance.random() < 0.02 else 1.0
        return round(level * (1 - drop * slow) * odd * (1 + chance.gauss(0, noise)), 2)

    while search.batch:
        pairs = []
        for _ in search.batch:
            level = 300 * (1 + chance.gauss(0, 0.02))
            pairs.append((speed(level, search.candidate), speed(level, names[0])))
        search.tell(pairs)
    return search


@pytest.mark.parametrize("first_slow", range(1, 9))
def test_the_first_slow_version_is_found(first_slow):
    search = bisected(1, first_slow)
    assert search.found == NAMES[first_slow]
    assert search.left == [search.found]
    assert len(search.steps) <= 4
    assert search.steps[0].version == "v8"
    numbers = [number for step in search.steps for number in step.rounds]
    assert numbers == list(range(1, len(numbers) + 1))


def test_where_no_version_is_slow_none_is_named():
    search = bisected(1, None)
    assert search.found is None
    assert [step.verdict for step in search.steps] == ["undecided"]
    assert len(search.steps[0].rounds) == 32
    assert search.left == NAMES[1:]


@pytest.mark.parametrize(("drop", "noise"), [(0.03, 0.004), (0.01, 0.004), (0.03, 0.015)])
def test_a_wrong_version_is_named_as_rarely_as_stated(drop, noise):
    wrong = right = 0
    for seed in range(400):
        first_slow = seed % 8 + 1
        found = bisected(seed, first_slow, drop, noise).found
        right += found == NAMES[first_slow]
        wrong += found not in (None, NAMES[first_slow])
    assert wrong <= stats.binom.isf(1e-4, 400, 0.05)
    if (drop, noise) == (0.03, 0.004):
        assert right >= 380


def test_a_slow_version_is_rarely_named_where_there_is_none():
    named = sum(bisected(seed, None).steps[0].verdict == "slow" for seed in range(400))
    assert named <= stats.binom.isf(1e-4, 400, 0.05)


def test_rounds_without_a_pair_end_it_undecided():
    search = Bisection(["a", "b"], most=8)
    asked = []
    while search.batch:
        asked += search.batch
        search.tell([])
    assert asked == [1, 2, 3, 4, 5, 6, 7, 8]
    assert search.found is None
    assert search.steps[0].ratio is None


@pytest.mark.parametrize(("names", "most"), [(["a"], 32), (["a", "b"], 3)])
def test_too_little_is_refused(names, most):
    with pytest.raises(ValueError, match="bisecting needs two versions and 4 rounds"):
        Bisection(names, most)
