"""Which repeats run again: by their endings, so often, and not without hope."""

from __future__ import annotations

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.records.endings import ending_names
from ansible_collections.scalebench.core.plugins.module_utils.running.policy import (
    check_retry_policy,
    default_retry_policy,
    retries_are_hopeless,
    should_retry,
)
from hypothesis import given
from hypothesis import strategies as st

RETRIABLE = ending_names(retriable=True)
POLICY = check_retry_policy({})
ENDINGS = st.sampled_from((*RETRIABLE, "ok", "unavailable", "interrupted", "skipped"))
POLICIES = st.fixed_dictionaries(
    {
        "endings": st.lists(st.sampled_from(RETRIABLE)),
        "attempts": st.integers(1, 5),
        "give_up_after": st.integers(1, 5),
    }
)


@pytest.mark.parametrize(
    ("history", "run", "reason"),
    [
        (["crashed"], True, "crashed: attempt 2 of 2 follows"),
        (["interrupted", "stalled"], True, "stalled: attempt 2 of 2 follows"),
        (["crashed", "timeout"], False, "timeout in attempt 2 of 2"),
        (["crashed", "ok"], False, "ok"),
        (["out_of_memory"], False, "out_of_memory is not retried"),
        (["invalid"], False, "invalid is not retried"),
        (["skipped"], False, "skipped is not retried"),
        (["crashed", "interrupted"], False, "interrupted: a resume runs it again"),
    ],
)
def test_what_runs_again_and_why(history, run, reason):
    assert should_retry(history, POLICY) == (run, reason)


def test_nothing_is_retried_before_it_was_tried():
    with pytest.raises(ValueError, match="no attempt yet"):
        should_retry([], POLICY)


@given(POLICIES, st.lists(ENDINGS, min_size=20, max_size=20))
def test_retries_are_bounded_and_only_of_endings_in_the_policy(policy, endings):
    history = endings[:1]
    while should_retry(history, policy)[0]:
        assert history[-1] in policy["endings"]
        history.append(endings[len(history)])
    assert len(history) <= policy["attempts"]


def test_failures_in_a_row_are_hopeless_until_one_is_ok():
    row = ["ok", "crashed", "launch_failed", "stalled", "timeout"]
    assert retries_are_hopeless(row, POLICY) is None
    assert retries_are_hopeless([*row, "crashed"], POLICY) == (
        "5 attempts in a row failed, the last one crashed"
    )
    assert retries_are_hopeless([*row, "crashed", "ok"], POLICY) is None
    assert retries_are_hopeless([*row, "ok", "crashed"], POLICY) is None


def test_endings_that_are_not_retried_do_not_count_as_hopeless():
    assert retries_are_hopeless(["out_of_memory", "skipped", "invalid"] * 5, POLICY) is None
    row = ["crashed", "out_of_memory"] * 5
    assert retries_are_hopeless(row, POLICY) == "5 attempts in a row failed, the last one crashed"


@given(POLICIES, st.lists(ENDINGS))
def test_an_ok_ends_hopelessness(policy, endings):
    assert retries_are_hopeless([*endings, "ok"], policy) is None


def test_missing_keys_have_their_defaults():
    assert check_retry_policy({"attempts": 3}) == {**default_retry_policy(), "attempts": 3}


@pytest.mark.parametrize(
    ("given_policy", "words"),
    [
        ("crashed", "'crashed': a mapping of endings, attempts, give_up_after"),
        ({"tries": 2}, "no key 'tries'; the choices are endings, attempts, give_up_after"),
        ({"endings": "crashed"}, "endings 'crashed' is not a list"),
        ({"endings": ["ok"]}, "endings has 'ok'; the choices are crashed, stalled, timeout"),
        ({"endings": ["interrupted"]}, "endings has 'interrupted'"),
        ({"attempts": 0}, "attempts 0 is not a whole number from 1 up"),
        ({"attempts": True}, "attempts True is not"),
        ({"give_up_after": "5"}, "give_up_after '5' is not"),
    ],
)
def test_an_invalid_policy_is_refused(given_policy, words):
    with pytest.raises(ValueError, match="retry policy") as error:
        check_retry_policy(given_policy)
    assert words in str(error.value)
