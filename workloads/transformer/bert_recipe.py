"""BERT pre-training as published: sizes, hyperparameters, learning rate, operations, options.

Source: Devlin et al. 2019 (arXiv 1810.04805), sections 3.1 and A.2, and google-research/bert, the
program of its authors. Needs the standard library only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

VOCABULARY = 30522  # of the published uncased models
POSITIONS = 512
SEGMENTS = 2
SHORTEST = 8  # sequence of two segments, three special tokens and a masked position
MASKED_SHARE = 0.15
DROPOUT = 0.1
NORM_EPSILON = 1e-12
RATE_WARMUP_SHARE = 0.01  # 10,000 of 1,000,000 steps
BETAS = (0.9, 0.999)
ADAM_EPSILON = 1e-6
WEIGHT_DECAY = 0.01
LARGEST_GRADIENT = 1.0  # norm of all gradients together


@dataclass(frozen=True)
class Size:
    """Dimensions of an encoder; ``rate`` is the published one, for a global batch of 256."""

    layers: int
    hidden: int
    heads: int
    rate: float = 1e-4

    @property
    def feed_forward(self):
        return 4 * self.hidden

    def embedding_parameters(self, vocabulary):
        """Return the weights that words, positions and segments are looked up in."""
        return (vocabulary + POSITIONS + SEGMENTS) * self.hidden

    def parameters(self, vocabulary):
        """Return the number of all weights, with those of both heads."""
        square, norm = self.hidden**2 + self.hidden, 2 * self.hidden
        feed_forward = 2 * self.hidden * self.feed_forward + self.feed_forward + self.hidden
        heads = 2 * square + norm + vocabulary + 2 * self.hidden + 2
        blocks = self.layers * (4 * square + feed_forward + 2 * norm)
        return self.embedding_parameters(vocabulary) + norm + blocks + heads


SIZES = {
    # The smallest of the miniatures of Turc et al. 2019 (arXiv 1908.08962), at a rate by which it
    # learns within minutes.
    "tiny": Size(2, 128, 2, rate=1e-3),
    "base": Size(12, 768, 12),
    "large": Size(24, 1024, 16),
}


def masked_positions(sequence_length):
    """Return how many positions of a full sequence are masked: 19 of 128, 77 of 512.

    As create_pretraining_data.py of google-research/bert: rounded, at least one.
    """
    return max(1, round(sequence_length * MASKED_SHARE))


def prediction_slots(sequence_length):
    """Return how many positions the output layer computes for: 20 of 128, 77 of 512.

    The published ``max_predictions_per_seq``: the share rounded up. What is above the masked
    positions is computed too, and does not count in the loss. NVIDIA's programs have 80 at 512.
    """
    return math.ceil(sequence_length * MASKED_SHARE)


def rate_at(step, steps, peak):
    """Return the learning rate of a step, from 1: a linear rise, then a linear fall to 0.

    The published shares of the schedule, applied to the steps of this run.
    """
    warmup = max(1, round(steps * RATE_WARMUP_SHARE))
    if step <= warmup:
        return peak * step / warmup
    return peak * (steps - step + 1) / (steps - warmup + 1)


def sequence_flops(size, sequence_length, vocabulary):
    """Return the floating-point operations of training on one sequence.

    The matrix products only, two operations for each product of two numbers, and the backward pass
    twice the forward pass: the count of Kaplan et al. 2020 (arXiv 2001.08361, table 1), with the
    attention of all positions to all, and the heads for the positions that they compute for.
    Nothing is counted for computing anything twice.
    """
    hidden, length = size.hidden, sequence_length
    layer = 8 * hidden**2 + 4 * hidden * size.feed_forward + 4 * length * hidden
    masked = prediction_slots(length) * (2 * hidden**2 + 2 * hidden * vocabulary)
    next_sentence = 2 * hidden**2 + 4 * hidden
    return 3 * (length * size.layers * layer + masked + next_sentence)
