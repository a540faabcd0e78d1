"""BERT with both heads of its pre-training, in PyTorch."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from transformer.bert_recipe import DEVIATION, DROPOUT, NORM_EPSILON, POSITIONS, SEGMENTS, Size
from transformer.bert_samples import NOTHING
from transformer.layers import Attention


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
    """

    def __init__(self, size: Size, vocabulary: int, dropout: bool = False) -> None:
        super().__init__()
        self.dropout = DROPOUT if dropout else 0.0
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
            scores.flatten(0, 1), answers.flatten(), ignore_index=NOTHING
        )
        return words + functional.cross_entropy(self.next_sentence(first), is_random)

    def encode(self, tokens: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        """Return the last layer's `(N, length, hidden)`."""
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]] + self.segments(segments)
        x = functional.dropout(self.norm(x), self.dropout, self.training)
        for block in self.blocks:
            x = block(x)
        return x

    def initialise(self) -> None:
        """Draw the weights: a normal distribution without its tails, 0 and 1 for the others."""
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                nn.init.ones_(module.weight)
            elif isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.trunc_normal_(module.weight, 0, DEVIATION, -2 * DEVIATION, 2 * DEVIATION)
            if isinstance(module, (nn.LayerNorm, nn.Linear)):
                nn.init.zeros_(module.bias)
        nn.init.zeros_(self.word_bias)

    def embedding_parameters(self) -> int:
        """Return how many weights are looked up, not multiplied with, in the first layer."""
        tables = (self.words, self.places, self.segments)
        return sum(table.weight.numel() for table in tables)


def decayed_groups(model: nn.Module, decay: float) -> list[dict]:
    """Return the optimiser's groups: weight decay for matrices, none for biases and norms."""
    matrices = [weight for weight in model.parameters() if weight.dim() > 1]
    others = [weight for weight in model.parameters() if weight.dim() <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
