"""Named formulas for the FLOPs of training on one unit, forward and backward.

None counts what activation checkpointing computes again: the model's FLOPs, not the hardware's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, Mapping, Optional, Tuple

from ..records.runs import ModelFacts

__all__ = ["CONVENTIONS", "FORMULAS", "Formula", "flops_per_unit", "utilisation"]

# Of each weight in a matrix product: multiply and add, once forward and twice backward (Kaplan et
# al. 2020, arXiv 2001.08361, section 2.1).
_PER_WEIGHT = 6
_DIMENSIONS = ("parameters", "embedding_parameters", "layers", "hidden", "sequence_length")


@dataclass(frozen=True)
class Formula:
    """FLOPs of one ``unit``, from those ``needs`` of a ``ModelFacts`` that a log states."""

    unit: str
    about: str
    source: str
    count: Callable[[ModelFacts], float]
    needs: Tuple[str, ...] = _DIMENSIONS


def _weights(model: ModelFacts) -> float:
    """Return the FLOPs of the products with weights; a table that is looked up is none."""
    return _PER_WEIGHT * (model["parameters"] - model["embedding_parameters"])


def _attention(model: ModelFacts, factor: int) -> float:
    return factor * model["layers"] * model["hidden"] * model["sequence_length"]


FORMULAS: Dict[str, Formula] = {
    "nvidia_decoder": Formula(
        "tokens",
        "6(N-E) + 6Lhs: causal attention, of which half of the scores is needed",
        "re-derives the 744 TFLOP/s that NVIDIA prints for Llama 3 8B on an H100 at 14451 tokens/s"
        " (NVIDIA-NeMo/Megatron-Bridge docs/performance-summary.md)",
        lambda model: _weights(model) + _attention(model, 6),
    ),
    "torchtitan_decoder": Formula(
        "tokens",
        "6(N-E) + 12Lhs: attention as if it were not causal",
        "pytorch/torchtitan@b5bcd76 torchtitan/models/utils.py:405-471, whose number of parameters"
        " is without the embedding, unless its weights are the output's too",
        lambda model: _weights(model) + _attention(model, 12),
    ),
    "encoder": Formula(
        "sequences",
        "s (6(N-E) + 12Lhs): attention in both directions, of all tokens of a sequence",
        "Chowdhery et al. 2022 (PaLM, arXiv 2204.02311), appendix B",
        lambda model: model["sequence_length"] * (_weights(model) + _attention(model, 12)),
    ),
}
# The formulas by which decoders are compared, by the name that a run's figures have them under.
CONVENTIONS: Dict[str, str] = {"nvidia": "nvidia_decoder", "torchtitan": "torchtitan_decoder"}


def flops_per_unit(name: str, model: Mapping[str, object]) -> Optional[float]:
    """Return the FLOPs of one unit by a named formula, None where a dimension is not stated.

    :param name: of :data:`FORMULAS`.
    :param model: a ``ModelFacts``, perhaps incomplete.
    """
    formula = FORMULAS[name]
    if any(not isinstance(model.get(key), (int, float)) for key in formula.needs):
        return None
    return formula.count(model)  # type: ignore[arg-type]


def utilisation(flops: float, rate: float, devices: int, peak: float) -> Optional[float]:
    """Return the model FLOPs utilisation (MFU), a share of the peak; None without one.

    :param flops: of one unit.
    :param rate: units per second of all devices together.
    :param peak: FLOP/s of one device.
    """
    return flops * rate / (devices * peak) if devices > 0 and peak > 0 else None
