"""Samples of BERT's pre-training: two segments, masked tokens, and whether the second one follows.

As create_pretraining_data.py of google-research/bert makes them, but for three things: tokens are
bytes of a text, sequences are always full, and each is masked only once. A sample is a function of
the seed and its number, so that the global batch does not depend on the number of ranks. Needs the
standard library only.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from transformer.bert_recipe import masked_positions, prediction_slots

# As in the published vocabularies, whose words begin at 999.
NOTHING, CLASSIFY, SEPARATE, MASK = 0, 101, 102, 103
FIRST_WORD = 999
BYTES = range(FIRST_WORD, FIRST_WORD + 256)
SPECIAL = 3  # tokens of a sequence that no text has: one CLASSIFY and two SEPARATE


@dataclass(frozen=True)
class Sample:
    """One sequence; `positions` and `answers` have one value for each prediction.

    An answer of NOTHING counts nothing: its slot is computed for, and fills the output up.
    """

    tokens: list
    segments: list
    positions: list
    answers: list
    is_random: int  # 1 where the second segment does not follow the first in the text


def text_sample(text, number, seed, sequence_length):
    """Return a sample from a random place of a text.

    :param text: bytes, at least :data:`SPECIAL` fewer than the sequence has, and one more.
    :param number: of the sample, in all batches of all ranks.
    """
    draw = random.Random(f"{seed} {number}")
    length = sequence_length - SPECIAL
    begin, first = draw.randrange(len(text) - length + 1), _length_of_first(length, draw)
    is_random = draw.random() < 0.5
    follow = begin + first
    if is_random:
        # Anywhere but where the text goes on.
        other = draw.randrange(len(text) - (length - first))
        follow = other + (other >= follow)
    words = [FIRST_WORD + byte for byte in text[begin : begin + first]]
    others = [FIRST_WORD + byte for byte in text[follow : follow + length - first]]
    return _masked(words, others, is_random, draw, BYTES)


def random_sample(index, seed, sequence_length, vocabulary):
    """Return a sample of random words, for measuring speed."""
    draw = random.Random(f"{seed} {index}")
    words = range(FIRST_WORD, vocabulary)
    length = sequence_length - SPECIAL
    drawn = draw.choices(words, k=length)
    first = _length_of_first(length, draw)
    return _masked(drawn[:first], drawn[first:], draw.random() < 0.5, draw, words)


def _length_of_first(length, draw):
    """Return how many of the words are the first segment's: a quarter to three quarters."""
    return draw.randint(length // 4, 3 * length // 4)


def _masked(first, second, is_random, draw, words):
    """Return the sample of two segments, some of its tokens replaced.

    Of the tokens chosen for prediction 80 % become MASK, 10 % a random word, and 10 % stay.
    """
    tokens = [CLASSIFY, *first, SEPARATE, *second, SEPARATE]
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    candidates = [place for place, token in enumerate(tokens) if token >= FIRST_WORD]
    masked = masked_positions(len(tokens))
    empty = prediction_slots(len(tokens)) - masked
    positions = sorted(draw.sample(candidates, masked))
    answers = [tokens[place] for place in positions]
    for place in positions:
        chance = draw.random()
        if chance < 0.8:
            tokens[place] = MASK
        elif chance < 0.9:
            tokens[place] = draw.choice(words)
    return Sample(
        tokens,
        segments,
        positions + [0] * empty,
        answers + [NOTHING] * empty,
        int(is_random),
    )
