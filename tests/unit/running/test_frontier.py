"""What an exhausted memory rules out, and the bisection to the largest batch that runs."""

from __future__ import annotations

from math import log2

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import matrix
from ansible_collections.scalebench.core.plugins.module_utils.running.search import (
    largest_fitting,
    next_batch,
    skipped,
)
from campaign_data import benchmarks, cluster
from hypothesis import given
from hypothesis import strategies as st


def cells():
    options = {
        "benchmark": ["pytorch"],
        "precision": ["fp32", "amp"],
        "topology": ["1n1g", "2n1g"],
        "batch_size_per_device": [64, 128, 256],
    }
    return matrix.expand(benchmarks(), options, cluster(2, gpus=1))


def named(cell):
    return (cell["precision"], cell["topology"], cell["batch_size_per_device"])


def test_only_larger_batches_of_the_same_cell_are_skipped():
    exhausted = [cell for cell in cells() if named(cell) == ("fp32", "2n1g", 128)]
    reasons = {named(cell): skipped(cell, exhausted) for cell in cells()}
    assert len(reasons) == 12
    assert {key: reason for key, reason in reasons.items() if reason} == {
        ("fp32", "2n1g", 256): "out of memory at 128"
    }


def test_the_reason_names_the_smallest_that_ran_out():
    last = next(cell for cell in cells() if named(cell) == ("amp", "1n1g", 256))
    alike = [cell for cell in cells() if named(cell)[:2] == ("amp", "1n1g")]
    assert skipped(last, alike[::-1]) == "out of memory at 64"
    assert skipped(last, []) is None


def search(fits, start, limit):
    """Probe until the search ends; return what it found and what it tried."""
    tried = {}
    batch = next_batch(tried, start, limit)
    while batch is not None:
        assert batch not in tried
        assert 1 <= batch <= limit
        tried[batch] = "fits" if fits(batch) else "out_of_memory"
        batch = next_batch(tried, start, limit)
    return largest_fitting(tried), tried


BOUNDS = st.integers(1, 4096).flatmap(
    lambda limit: st.tuples(st.integers(1, limit), st.just(limit))
)


@given(st.integers(0, 5000), BOUNDS)
def test_the_largest_is_found_for_every_threshold(threshold, bounds):
    start, limit = bounds
    found, tried = search(lambda batch: batch <= threshold, start, limit)
    true = min(threshold, limit)
    if true == 0:
        assert found is None
    elif true in (limit, *range(1, 65)):
        assert found == true
    else:
        assert true - 8 < found <= true
    assert len(tried) <= 2 + 2 * log2(limit)


@given(st.sets(st.integers(1, 512)), BOUNDS)
def test_it_ends_whatever_memory_does(fitting, bounds):
    found, tried = search(fitting.__contains__, *bounds)
    assert found is None or tried[found] == "fits"
    assert len(tried) <= 2 + 2 * log2(bounds[1])


def test_the_order_of_probes():
    _found, tried = search(lambda batch: batch <= 200, 32, 1024)
    assert list(tried) == [32, 64, 128, 256, 192, 224, 208, 200]


def test_an_exhausted_memory_below_what_fits_is_believed():
    tried = {64: "fits", 128: "out_of_memory", 256: "fits"}
    assert largest_fitting(tried) == 64
    assert 64 < next_batch(tried, 64, 512) < 128


@pytest.mark.parametrize(("start", "limit"), [(0, 8), (9, 8)])
def test_impossible_bounds_are_refused(start, limit):
    with pytest.raises(ValueError, match=f"start {start}, limit {limit}"):
        next_batch({}, start, limit)


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="batch size 8: 'crashed' is neither fits nor"):
        next_batch({8: "crashed"}, 8, 64)
