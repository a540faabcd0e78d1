"""The table of endings."""

from ansible_collections.scalebench.core.plugins.module_utils.records.endings import (
    BY_NAME,
    ENDINGS,
    ending_names,
)


def test_names_are_unique():
    assert len(BY_NAME) == len(ENDINGS)


def test_what_never_ran_is_not_retried():
    assert ending_names(ran=False) == ("unavailable", "skipped")
    assert not {*ending_names(retriable=True)} & {"ok", *ending_names(ran=False)}


def test_what_is_retried_by_default_is_retriable():
    assert {*ending_names(retried=True)} < {*ending_names(retriable=True)}


def test_causes_are_ranked_without_ties():
    ranks = [ending.cause for ending in ENDINGS if ending.cause is not None]
    assert sorted(ranks) == list(range(len(ranks)))
