"""Batches of a folder: shares that are apart, the same whoever reads them, read by processes."""

from __future__ import annotations

import itertools
import os
import sys
from argparse import Namespace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "workloads/resnet50"))
from folder_batches import folder_batches
from rank_place import Place
from report_lines import BadDataError


@pytest.fixture
def images(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow to write images")
    for index in range(9):
        picture = image.new("RGB", (40, 40), (index * 20, 0, 0))
        picture.save(tmp_path / f"{index}.png")
    return [(str(tmp_path / f"{index}.png"), index) for index in range(9)]


def batches(images, count, rank=0, ranks=1, workers=0):
    options = Namespace(batch_size=2, image_size=8, seed=1, workers=workers)
    return list(itertools.islice(folder_batches(images, options, Place(rank, ranks, 0, 1)), count))


def test_ranks_share_an_epoch_without_an_image_twice(images):
    ranks = [batches(images, 3, rank, 2) for rank in range(2)]
    assert [[epoch for epoch, _, _ in found] for found in ranks] == [[0, 0, 1]] * 2
    labels = [label for found in ranks for _, _, some in found[:2] for label in some]
    assert len(set(labels)) == 8


def test_pixels_belong_to_their_label(images):
    for _epoch, pixels, labels in batches(images, 5):
        assert [len(one) for one in pixels] == [8 * 8 * 3] * 2
        assert [one[0] // 20 for one in pixels] == labels


def test_every_epoch_is_shuffled_anew(images):
    found = batches(images, 8)
    assert [labels for _, _, labels in found[:4]] != [labels for _, _, labels in found[4:]]


def test_processes_read_the_same_as_the_rank_itself(images):
    assert batches(images, 6, workers=2) == batches(images, 6)


def test_a_file_that_a_process_cannot_read_is_named(images):
    Path(images[3][0]).write_bytes(b"no image")
    with pytest.raises(BadDataError, match=f"cannot decode {os.path.dirname(images[3][0])}/3.png"):
        batches(images, 8, workers=1)
