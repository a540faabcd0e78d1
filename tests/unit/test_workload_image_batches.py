"""Batches of images that each rank reads for itself."""

from __future__ import annotations

import itertools
import os
import queue
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest

from common.batches import _Reader, epoch_share, read_ahead
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
    alone = batches(images, 0)
    assert batches(images, 2) == alone
    assert [(epoch, batch) for epoch, batch, _, _ in alone] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (2, 0),
    ]
    assert {len(pixels) for _, _, pixels, _ in alone} == {2 * 16 * 16 * 3}
    assert len({label for epoch, _, _, labels in alone if epoch == 0 for label in labels}) == 4


KILLED = """
import signal
from common.batches import read_ahead

def read(number, paths):
    signal.raise_signal(signal.SIGKILL) if number == 2 else None

if __name__ == "__main__":
    list(read_ahead(read, [(number, "x" * {size}) for number in range(20)], {workers}))
"""


# Of 256 images the paths take 25 kB, and a pipe holds 64 KiB.
@pytest.mark.parametrize(("workers", "size"), [(1, 10), (2, 200_000), (8, 25_000)])
def test_a_reader_process_that_is_killed_ends_the_rank(tmp_path, workers, size):
    """As by the kernel where memory is short; the rank would wait for its batch for ever."""
    (tmp_path / "rank.py").write_text(KILLED.format(workers=workers, size=size))
    done = subprocess.run(
        [sys.executable, tmp_path / "rank.py"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "workloads")},
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert "RuntimeError: a process that reads ended: exit code -9" in done.stderr
    assert done.returncode == 1


def test_a_reader_process_says_nothing_where_its_rank_was_killed():
    waiting = queue.SimpleQueue()
    reader = _Reader(bytes, waiting)
    reader._connection.send((1 << 24,))
    waiting.put(None)
    reader.process.join(60)
    assert reader.process.exitcode == 0


def test_what_is_read_for_nobody_is_not_waited_for():
    jobs = ((seconds,) for seconds in itertools.chain([0], itertools.repeat(20)))
    waits = read_ahead(time.sleep, jobs, 1)
    next(waits)
    began = time.monotonic()
    waits.close()
    assert time.monotonic() - began < 10


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
