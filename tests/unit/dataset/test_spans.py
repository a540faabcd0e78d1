"""Walks through record files whose bytes are written here by hand."""

from __future__ import annotations

import struct

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.dataset.spans import (
    WALKS,
    ofrecord_spans,
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
def test_a_file_that_was_cut_names_the_record(layout):
    data = FILES[layout]
    second = spans(WALKS[layout], data)[1][0]
    with pytest.raises(
        ValueError, match=rf"record 1 at byte {second} claims .* has {len(data) - 1}"
    ):
        spans(WALKS[layout], data[:-1])
    with pytest.raises(ValueError, match=rf"record 1 at byte {second} is cut in its length"):
        spans(WALKS[layout], data[: second + 5])


def test_what_is_no_recordio_is_refused():
    with pytest.raises(ValueError, match="record 0 at byte 0 begins without the magic number"):
        spans(recordio_spans, TFRECORD)


@pytest.mark.parametrize("length", [0, -1, 1 << 40])
def test_a_length_that_cannot_be_is_refused(length):
    with pytest.raises(ValueError, match="record 0 at byte 0 claims"):
        spans(ofrecord_spans, struct.pack("<q", length) + b"abc")
