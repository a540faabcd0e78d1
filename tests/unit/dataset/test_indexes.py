"""Index files: DALI's form, and those that cannot be of their file."""

from __future__ import annotations

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.dataset.indexes import (
    dali_index,
    dali_index_problem,
    recordio_index_problem,
)


def test_an_index_has_offset_and_size_a_line_and_fits():
    text = dali_index([(0, 19), (19, 21)])
    assert text == "0 19\n19 21\n"
    assert dali_index_problem(text, 40) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 19\n", "its index ends at byte 19, the shard at 40"),
        ("0 19\n20 20\n", "line 2 of its index begins at byte 20, not 19"),
        ("0 19\n19\n", "line 2 of its index is not 'offset size'"),
        ("nonsense\n", "line 1 of its index is not 'offset size'"),
        ("", "its index ends at byte 0, the shard at 40"),
    ],
)
def test_an_index_that_does_not_fit_is_told(text, said):
    assert dali_index_problem(text, 40) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0\t0\n1\t12\n", ""),
        ("0\t0\n1\t40\n", "its index goes to byte 40, the file has 40"),
        ("0\t12\n1\t0\n", "line 2 of its index goes back to byte 0"),
        ("0 zero\n", "line 1 of its index is not 'number<tab>offset'"),
        ("", "its index is empty"),
    ],
)
def test_an_index_of_recordio_points_into_its_file(text, said):
    assert recordio_index_problem(text, 40) == said
