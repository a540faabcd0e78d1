"""Named formulas for the FLOPs of training on one token, forward and backward.

None counts what activation checkpointing computes again: the model's FLOPs, not the hardware's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, cast

from ..records.runs import ModelFacts

__all__ = ["CONVENTIONS", "FORMULAS", "NEEDED", "Formula", "flops_per_token", "utilisation"]

# Of each weight in a matrix product: multiply and add, once forward and twice backward (Kaplan et
# al. 2020, arXiv 2001.08361, section 2.1).
_PER_WEIGHT = 6
NEEDED = ("parameters", "embedding_parameters", "layers", "hidden", "sequence_length")


@dataclass(frozen=True)
class Formula:
    """FLOPs of a token, from those dimensions, ``needs``, that a log states of its model."""

    about: str
    source: str
    count: Callable[[ModelFacts], float]
    needs: Tuple[str, ...] = NEEDED


def _weights(model: ModelFacts) -> float:
    """Return the FLOPs of the products with weights; a table that is looked up is none."""
    return _PER_WEIGHT * (model["parameters"] - model["embedding_parameters"])


def _attention(model: ModelFacts) -> float:
    """Return the FLOPs of queries with keys and of scores with values, each with all others."""
    return 2 * _PER_WEIGHT * model["layers"] * model["hidden"] * model["sequence_length"]


def _seen(model: ModelFacts) -> float:
    """Return the same without the half that a causal attention does not need."""
    return _attention(model) / (2 if model.get("causal", True) else 1)


def _bert(model: ModelFacts) -> float:
    """Return the FLOPs of BERT's matrix products, whose heads compute for some of the tokens."""
    hidden, length = model["hidden"], model["sequence_length"]
    # Of a token forward: four square matrices and two of the feed-forward layer, and attention.
    layer = 8 * hidden**2 + 4 * hidden * model["feed_forward"] + 4 * length * hidden
    masked = model["predictions"] * (2 * hidden**2 + 2 * hidden * model["vocabulary"])
    next_sentence = 2 * hidden**2 + 4 * hidden
    return 3 * (model["layers"] * layer + (masked + next_sentence) / length)


FORMULAS: Dict[str, Formula] = {
    "nvidia_decoder": Formula(
        "6(N-E) + 6Lhs: of causal attention half; 12Lhs where each position sees all",
        "re-derives the 744 TFLOP/s that NVIDIA prints for Llama 3 8B on an H100 at 14451 tokens/s"
        " (NVIDIA-NeMo/Megatron-Bridge docs/performance-summary.md)",
        lambda model: _weights(model) + _seen(model),
    ),
    "torchtitan_decoder": Formula(
        "6(N-E) + 12Lhs: attention as if it were not causal",
        "pytorch/torchtitan@b5bcd76 torchtitan/models/utils.py:405-471, whose number of parameters"
        " is without the embedding, unless its weights are the output's too",
        lambda model: _weights(model) + _attention(model),
    ),
    "encoder": Formula(
        "6(N-E) + 12Lhs: attention in both directions",
        "Chowdhery et al. 2022 (PaLM, arXiv 2204.02311), appendix B",
        lambda model: _weights(model) + _attention(model),
    ),
    "bert_pretraining": Formula(
        "72Lh^2 + 12Lhs, where the inner layer is 4h wide, and both heads for the predicted tokens",
        "the matrix products of Devlin et al. 2019 (arXiv 1810.04805), counted as Kaplan et al."
        " 2020 do (arXiv 2001.08361, table 1); equal to what PyTorch's FlopCounterMode counts",
        _bert,
        ("layers", "hidden", "sequence_length", "feed_forward", "vocabulary", "predictions"),
    ),
}
# The formulas by which decoders are compared, by the name that a run's figures have them under.
CONVENTIONS: Dict[str, str] = {"nvidia": "nvidia_decoder", "torchtitan": "torchtitan_decoder"}


def flops_per_token(name: str, model: Mapping[str, Any]) -> Optional[float]:
    """Return the FLOPs of a token by a named formula, None where a dimension is not stated.

    :param name: of :data:`FORMULAS`; of a results file of another version it may be none of them.
    :param model: a ``ModelFacts``, perhaps incomplete.
    """
    formula = FORMULAS.get(name)
    if formula is None or any(model.get(key) is None for key in formula.needs):
        return None
    return formula.count(cast(ModelFacts, model))


def utilisation(flops: float, rate: float, devices: int, peak: float) -> Optional[float]:
    """Return the model FLOPs utilisation (MFU), a share of the peak; None without one.

    :param flops: of one unit.
    :param rate: units per second of all devices together.
    :param peak: FLOP/s of one device.
    """
    return flops * rate / (devices * peak) if devices > 0 and peak > 0 else None
