"""BERT with both heads of its pre-training, in PyTorch."""

from __future__ import annotations

import itertools
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import fields

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from common.ranks import Place
from transformer.bert_recipe import DROPOUT, NORM_EPSILON, POSITIONS, SEGMENTS, Size
from transformer.bert_samples import NOTHING, Sample, random_sample, text_sample
from transformer.layers import Attention, initialise


class EncoderBlock(nn.Module):
    """Attention of all positions to all, then two matrices; each is added and then normalised."""

    def __init__(self, size: Size, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.attention = Attention(size.hidden, size.heads, size.heads, bias=True, causal=False)
        self.attention_norm = nn.LayerNorm(size.hidden, NORM_EPSILON)
        self.rise = nn.Linear(size.hidden, size.feed_forward)
        self.output = nn.Linear(size.feed_forward, size.hidden)
        self.norm = nn.LayerNorm(size.hidden, NORM_EPSILON)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.attention(x, dropout=self.dropout if self.training else 0.0)
        x = self.attention_norm(x + self._drop(seen))
        return self.norm(x + self._drop(self.output(functional.gelu(self.rise(x)))))

    def _drop(self, x: torch.Tensor) -> torch.Tensor:
        return functional.dropout(x, self.dropout, self.training)


class Bert(nn.Module):
    """The encoder and its pre-training loss.

    The output layer of the words shares its matrix with their embedding, as published. Sequences
    are full, so that no position needs to be hidden from attention.

    :param dropout: whether to drop a share of the activations, as published.
    :param checkpointing: compute each block's activations again in the backward pass.
    """

    def __init__(
        self, size: Size, vocabulary: int, dropout: bool = False, checkpointing: bool = False
    ) -> None:
        super().__init__()
        self.dropout, self.checkpointing = DROPOUT if dropout else 0.0, checkpointing
        self.words = nn.Embedding(vocabulary, size.hidden)
        self.places = nn.Embedding(POSITIONS, size.hidden)
        self.segments = nn.Embedding(SEGMENTS, size.hidden)
        self.norm = nn.LayerNorm(size.hidden, NORM_EPSILON)
        self.blocks = nn.ModuleList(EncoderBlock(size, self.dropout) for _ in range(size.layers))
        self.pooler = nn.Linear(size.hidden, size.hidden)
        self.next_sentence = nn.Linear(size.hidden, 2)
        self.transform = nn.Linear(size.hidden, size.hidden)
        self.transform_norm = nn.LayerNorm(size.hidden, NORM_EPSILON)
        self.word_bias = nn.Parameter(torch.empty(vocabulary))

    def forward(
        self,
        tokens: torch.Tensor,
        segments: torch.Tensor,
        positions: torch.Tensor,
        answers: torch.Tensor,
        is_random: torch.Tensor,
    ) -> torch.Tensor:
        """Return the loss of both tasks, each the mean of its predictions.

        :param tokens: `(N, length)`, as `segments`.
        :param positions: `(N, predictions)`, as `answers`; see ``bert_samples.Sample``.
        :param is_random: `(N,)`.
        """
        encoded = self.encode(tokens, segments)
        at = positions[..., None].expand(-1, -1, encoded.shape[-1])
        masked = functional.gelu(self.transform(encoded.gather(1, at)))
        scores = functional.linear(self.transform_norm(masked), self.words.weight, self.word_bias)
        first = torch.tanh(self.pooler(encoded[:, 0]))
        words = functional.cross_entropy(
            scores.flatten(0, 1).float(), answers.flatten(), ignore_index=NOTHING
        )
        return words + functional.cross_entropy(self.next_sentence(first).float(), is_random)

    def encode(self, tokens: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        """Return the last layer's `(N, length, hidden)`."""
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]] + self.segments(segments)
        x = functional.dropout(self.norm(x), self.dropout, self.training)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointing else block(x)
        return x

    def shards(self) -> Iterator[tuple[list[nn.Module], bool]]:
        """Yield what is gathered together, and whether it is freed after its forward pass.

        The rest is the model's own: its largest matrix is needed first and last, by embedding and
        output layer, and would be gathered twice if these were apart. As
        pytorch/torchtitan@b5bcd76 does with shared weights, torchtitan/distributed/fsdp.py:228-243.
        """
        for block in self.blocks:
            yield [block], True

    def initialise(self, seed: int) -> int:
        """Set all weights, on whatever device they are; return as ``layers.initialise``."""
        return initialise(self, seed)


def batches(text: bytes, options: Namespace, place: Place, device: torch.device) -> Iterator[tuple]:
    """Yield `(epoch, batch, *tensors)`, the tensors as ``Bert.forward`` takes them.

    :param text: what to train on; empty: one batch of random words, again and again.
    """
    length, first = options.sequence_length, place.rank * options.batch_size
    if not text:
        rank = range(first, first + options.batch_size)
        same = [random_sample(i, options.seed, length, options.vocabulary) for i in rank]
        tensors = to_tensors(same, device)
        for batch in itertools.count():
            yield 0, batch, *tensors
    for batch in itertools.count():
        begin = batch * options.batch_size * place.world_size + first
        rank = range(begin, begin + options.batch_size)
        samples = [text_sample(text, i, options.seed, length) for i in rank]
        yield 0, batch, *to_tensors(samples, device)


def to_tensors(samples: list[Sample], device: torch.device) -> list[torch.Tensor]:
    """Return a tensor for each field of the samples, in the order of :class:`Sample`."""
    columns = [[getattr(sample, field.name) for sample in samples] for field in fields(Sample)]
    return [torch.tensor(column).to(device) for column in columns]
