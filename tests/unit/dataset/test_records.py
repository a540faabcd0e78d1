"""Record files whose bytes are written here, and their indexes."""

from __future__ import annotations

import struct

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.dataset.records import (
    WALKS,
    dali_index,
    dali_index_problem,
    ofrecord_spans,
    recordio_index_problem,
    recordio_spans,
    tfrecord_spans,
)

TFRECORD = struct.pack("<QI3sI", 3, 0, b"abc", 0) + struct.pack("<QI5sI", 5, 0, b"abcde", 0)
OFRECORD = struct.pack("<q3s", 3, b"abc") + struct.pack("<q5s", 5, b"abcde")
RECORDIO = struct.pack("<II4s", 0xCED7230A, 3, b"abc") + struct.pack(
    "<II8s", 0xCED7230A, 5, b"12345"
)
FILES = {"tfrecord": TFRECORD, "ofrecord": OFRECORD, "recordio": RECORDIO}


def spans(walk, data):
    return list(walk(lambda offset, length: data[offset : offset + length], len(data)))


def test_records_lie_one_after_another():
    assert spans(tfrecord_spans, TFRECORD) == [(0, 19), (19, 21)]
    assert spans(ofrecord_spans, OFRECORD) == [(0, 11), (11, 13)]
    assert spans(recordio_spans, RECORDIO) == [(0, 12), (12, 16)]


@pytest.mark.parametrize("layout", FILES)
def test_an_empty_file_has_no_records(layout):
    assert spans(WALKS[layout], b"") == []


@pytest.mark.parametrize("layout", FILES)
def test_the_error_of_a_truncated_file_names_the_record(layout):
    data = FILES[layout]
    second = spans(WALKS[layout], data)[1][0]
    with pytest.raises(
        ValueError, match=rf"record 1 at byte {second} claims .* has {len(data) - 1}"
    ):
        spans(WALKS[layout], data[:-1])
    with pytest.raises(ValueError, match=rf"record 1 at byte {second} has a truncated length"):
        spans(WALKS[layout], data[: second + 5])


def test_another_file_is_not_recordio():
    with pytest.raises(ValueError, match="record 0 at byte 0 begins without the magic number"):
        spans(recordio_spans, TFRECORD)


@pytest.mark.parametrize("length", [0, -1, 1 << 40])
def test_an_impossible_length_is_refused(length):
    with pytest.raises(ValueError, match="record 0 at byte 0 claims"):
        spans(ofrecord_spans, struct.pack("<q", length) + b"abc")


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
        ("0 many\n", "line 1 of its index is not 'offset size'"),
        ("", "its index ends at byte 0, the shard at 40"),
    ],
)
def test_an_index_that_does_not_match_is_reported(text, said):
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
