"""The samples of BERT's pre-training and its recipe: shapes, rates of masking, schedule."""

from __future__ import annotations

import random

import pytest

from transformer import bert_recipe, bert_samples
from transformer.bert_samples import CLASSIFY, FIRST_WORD, MASK, NOTHING, SEPARATE

TEXT = bytes(random.Random(1).choices(range(256), k=50_000))


def samples(length: int = 128, count: int = 400, seed: int = 7) -> list:
    return [bert_samples.text_sample(TEXT, number, seed, length) for number in range(count)]


@pytest.mark.parametrize(("length", "masked", "slots"), [(128, 19, 20), (512, 77, 77), (8, 1, 2)])
def test_a_sequence_is_full_and_has_the_published_predictions(length, masked, slots):
    for sample in [
        *samples(length, 20),
        *(bert_samples.random_sample(i, 7, length, 30522) for i in range(20)),
    ]:
        tokens, positions = sample.tokens, sample.positions
        assert len(tokens) == len(sample.segments) == length
        assert [tokens[0], tokens[-1]] == [CLASSIFY, SEPARATE]
        assert tokens.count(SEPARATE) == 2 and tokens.count(CLASSIFY) == 1
        # The first segment ends with its separator.
        assert sample.segments.index(1) == tokens.index(SEPARATE) + 1
        assert sample.segments == sorted(sample.segments)
        assert len(positions) == len(sample.answers) == slots
        assert len(set(positions[:masked])) == masked
        assert all(answer >= FIRST_WORD for answer in sample.answers[:masked])
        assert sample.answers[masked:] == [NOTHING] * (slots - masked)
        assert not {0, length - 1, tokens.index(SEPARATE)} & set(positions[:masked])


def test_15_percent_are_chosen_of_which_80_10_10_are_masked_replaced_and_kept():
    """By count over 7,600 predictions; the bounds are five standard deviations."""
    masked = replaced = kept = 0
    for sample in samples():
        for place, answer in zip(sample.positions[:19], sample.answers):
            token = sample.tokens[place]
            masked += token == MASK
            kept += token == answer
            replaced += token not in (MASK, answer)
    total = 400 * 19
    assert masked + replaced + kept == total
    assert abs(masked / total - 0.8) < 5 * (0.8 * 0.2 / total) ** 0.5
    # A random byte is the true one in 1 of 256 cases.
    assert abs(replaced / total - 0.1 * 255 / 256) < 5 * (0.1 * 0.9 / total) ** 0.5


def test_tokens_that_are_not_chosen_are_those_of_the_text():
    for sample in samples(count=100):
        tokens = list(sample.tokens)
        for place, answer in zip(sample.positions[:19], sample.answers):
            tokens[place] = answer
        middle = tokens.index(SEPARATE)
        first, second = (
            bytes(token - FIRST_WORD for token in part)
            for part in (tokens[1:middle], tokens[middle + 1 : -1])
        )
        # 31 random bytes are at one place of the text only.
        assert 31 <= len(first) <= 93 and TEXT.count(first) == 1
        assert len(second) == 125 - len(first) and second in TEXT
        follows = TEXT.startswith(second, TEXT.index(first) + len(first))
        assert follows == (not sample.is_random)


def test_half_of_the_second_segments_are_from_elsewhere():
    share = sum(sample.is_random for sample in samples()) / 400
    assert abs(share - 0.5) < 5 * (0.25 / 400) ** 0.5


def test_a_sample_is_the_same_each_time_and_another_for_each_number_and_seed():
    assert samples(count=20) == samples(count=20)
    assert samples(count=20) != samples(count=20, seed=8)
    assert len({tuple(sample.tokens) for sample in samples(count=100)}) == 100
    one, other = (bert_samples.random_sample(3, seed, 128, 30522) for seed in (1, 2))
    assert one.tokens != other.tokens


def test_a_text_may_be_one_byte_longer_than_a_sample():
    begins = set()
    for number in range(200):
        sample = bert_samples.text_sample(TEXT[:126], number, 1, 128)
        begins.add(sample.answers[0] if sample.positions[0] == 1 else None)
        assert len(sample.tokens) == 128
    assert len(begins) > 2


def test_the_rate_rises_over_the_first_percent_and_falls_to_almost_nothing():
    rates = [bert_recipe.rate_at(step, 1000, 1e-4) for step in range(1, 1001)]
    assert rates[0] == pytest.approx(1e-5)
    assert max(rates) == rates[9] == 1e-4
    assert rates == [*sorted(rates[:10]), *sorted(rates[10:], reverse=True)]
    assert 0 < rates[-1] < 2e-7
    # As the published schedule at the same share of the steps.
    assert bert_recipe.rate_at(500, 1000, 1e-4) == pytest.approx(0.5e-4, rel=0.02)
    assert bert_recipe.rate_at(1, 1, 1e-4) == 1e-4
