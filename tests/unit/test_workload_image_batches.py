"""Batches of images that each rank reads for itself."""

from __future__ import annotations

import itertools
from argparse import Namespace
from pathlib import Path

import pytest

from common.batches import epoch_share
from common.ranks import Place
from common.report_lines import BadDataError
from resnet50.images import image_batches, middles, read_for_evaluation


def place(rank: int, ranks: int) -> Place:
    return Place(rank, ranks, 0, 1)


def test_the_ranks_share_an_epoch_and_reshuffle_for_the_next():
    shares = [epoch_share(23, 0, place(rank, 3), 2, seed=7) for rank in range(3)]
    assert [len(share) for share in shares] == [6, 6, 6]
    assert len(set(itertools.chain(*shares))) == 18
    assert epoch_share(23, 1, place(0, 3), 2, seed=7) != shares[0]
    assert epoch_share(23, 0, place(0, 3), 2, seed=8) != shares[0]


@pytest.fixture
def images(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow to write images")
    paths = [tmp_path / f"{index}.png" for index in range(5)]
    for path in paths:
        image.effect_noise((40, 30), 64).convert("RGB").save(path)
    return [(str(path), label) for label, path in enumerate(paths)]


def batches(images, workers, count=5):
    options = Namespace(batch_size=2, image_size=16, workers=workers, seed=1)
    return list(itertools.islice(image_batches(images, options, place(0, 1)), count))


def test_reader_processes_yield_the_same_batches_as_none(images):
    alone, read_ahead = batches(images, 0), batches(images, 2)
    assert alone == read_ahead
    assert [(epoch, batch) for epoch, batch, _, _ in alone] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (2, 0),
    ]
    assert {len(pixels) for _, _, pixels, _ in alone} == {2 * 16 * 16 * 3}
    assert len({label for epoch, _, _, labels in alone if epoch == 0 for label in labels}) == 4


@pytest.mark.parametrize("workers", [0, 2])
def test_a_file_that_is_not_an_image_is_named(images, workers):
    Path(images[3][0]).write_bytes(b"no image")
    with pytest.raises(BadDataError, match=r"cannot decode .*3\.png"):
        batches(images, workers)


@pytest.mark.parametrize("workers", [0, 1])
def test_an_evaluation_sees_each_image_once_in_order(images, workers):
    options = Namespace(batch_size=1, image_size=4, workers=workers)
    alone = [read_for_evaluation(path, 4) for path, _ in images]
    assert len(images) > 4, "so many batches are read ahead"
    told = list(middles(images, options))
    assert [pixels for pixels, _ in told] == alone
    assert [label for _, labels in told for label in labels] == [label for _, label in images]
    options.batch_size = len(images) - 1
    assert [len(labels) for _, labels in middles(images, options)] == [len(images) - 1, 1]
