"""Sequences of tokens for the decoder: random ones, or bytes of a real text.

Sample i of a step is the same on any number of ranks with the same global batch.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import torch

from common.ranks import Place
from common.report_lines import BadDataError

# Epoch, number in it, tokens (N, length), the tokens that follow them (N, length).
Batch = tuple[int, int, torch.Tensor, torch.Tensor]
BYTES = 256


def own_sources() -> bytes:
    """Return the text that every node has: the source code of all trainers, by path.

    Python and English under this project's own licence.
    """
    folder = Path(__file__).resolve().parents[1]
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*.py")))


def text_facts(text: bytes) -> dict[str, object]:
    """Return what the header states of a text: its size, checksum, and entropy in nats.

    A model that knows no more than how frequent each byte is has the entropy as its loss.
    """
    shares = [count / len(text) for count in Counter(text).values()]
    return {
        "text_bytes": len(text),
        "text_sha256": hashlib.sha256(text).hexdigest(),
        "text_entropy": round(-sum(share * math.log(share) for share in shares), 6),
    }


def random_batches(
    vocabulary: int, options: Namespace, place: Place, device: torch.device
) -> Iterator[Batch]:
    """Make one batch of this rank and yield it without end."""
    rows = []
    for sample in _samples(options, place):
        chance = torch.Generator().manual_seed(options.seed * 1_000_003 + sample)
        rows.append(torch.randint(vocabulary, (options.sequence_length + 1,), generator=chance))
    pair = _pair(torch.stack(rows), device)
    for batch in itertools.count():
        yield 0, batch, *pair


def text_batches(
    text: bytes, options: Namespace, place: Place, device: torch.device
) -> Iterator[Batch]:
    """Yield pieces of a text from random places, without end; a byte is a token.

    :raises BadDataError: the text is shorter than a sequence.
    """
    length = options.sequence_length + 1
    if len(text) < length:
        raise BadDataError(f"the text has {len(text)} bytes and a sequence needs {length}")
    tokens = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    for batch in itertools.count():
        starts = [
            random.Random(f"{options.seed} {batch} {sample}").randrange(len(text) - length + 1)
            for sample in _samples(options, place)
        ]
        rows = torch.stack([tokens[start : start + length] for start in starts])
        yield 0, batch, *_pair(rows.long(), device)


def _samples(options: Namespace, place: Place) -> range:
    """Return the numbers of this rank's samples in the global batch."""
    first = place.rank * options.batch_size
    return range(first, first + options.batch_size)


def _pair(rows: torch.Tensor, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    on_device = rows.to(device)
    return on_device[:, :-1].contiguous(), on_device[:, 1:].contiguous()
