"""Named formulas for the FLOPs of training on one token, and the peaks of GPUs in FLOP/s.

The formulas are of forward and backward; none counts what activation checkpointing computes again:
the model's FLOPs, not the hardware's. The peaks are dense, at the boost clock: data sheets from
Ampere on print figures with sparsity, of which these are half.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple, cast

from ..records.runs import ModelFacts

__all__ = [
    "CONVENTIONS",
    "FORMULAS",
    "NEEDED",
    "PEAKS",
    "Formula",
    "flops_per_token",
    "peak_of",
    "utilisation",
]

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


class Peak(NamedTuple):
    """FLOP/s of one device, and where the figure comes from."""

    flops_per_second: float
    source: str


class _Gpu(NamedTuple):
    """One entry: a pattern of the names that the driver gives, TFLOP/s by precision, the source."""

    name: str
    tflops: Mapping[str, float]
    source: str


def _halves(tflops: float) -> Mapping[str, float]:
    return {"fp16": tflops, "bf16": tflops}


# fp32 is without tensor cores, the others are on them. The first entry that matches counts.
PEAKS: Tuple[_Gpu, ...] = (
    _Gpu("V100-SXM2", {"fp32": 15.7, "fp16": 125}, "NVIDIA V100 data sheet, January 2020"),
    _Gpu("V100-PCIE", {"fp32": 14.0, "fp16": 112}, "NVIDIA V100 data sheet, January 2020"),
    _Gpu(r"\bT4\b", {"fp32": 8.1, "fp16": 65}, "NVIDIA T4 data sheet, March 2019"),
    _Gpu(
        r"\bA100\b",
        {"fp32": 19.5, "tf32": 156, **_halves(312)},
        "NVIDIA A100 data sheet, June 2021, dense",
    ),
    _Gpu(r"\bA10\b", {"fp32": 31.2, "tf32": 62.5, **_halves(125)}, "NVIDIA A10 data sheet, dense"),
    _Gpu(r"\bL40S\b", {"fp32": 91.6, "tf32": 183, **_halves(362)}, "NVIDIA L40S data sheet, dense"),
    _Gpu(
        r"\bH100\b.*NVL",
        {"fp32": 60, "tf32": 417.5, **_halves(835)},
        "NVIDIA H100 data sheet, H100 NVL, dense",
    ),
    _Gpu(
        r"\bH100\b.*PCIe",
        {"fp32": 51, "tf32": 378, **_halves(756)},
        "NVIDIA H100 data sheet, H100 PCIe, dense",
    ),
    _Gpu(
        r"\bH[12]00\b(?!.*NVL)",
        {"fp32": 67, "tf32": 494.5, **_halves(989)},
        "NVIDIA H100 and H200 data sheets, SXM, dense",
    ),
    _Gpu(
        r"\bB200\b", {**_halves(2250)}, "pytorch/torchtitan@b5bcd76 torchtitan/tools/utils.py:193"
    ),
)


def peak_of(device_name: Optional[str], precision: Optional[str]) -> Optional[Peak]:
    """Return the peak of a GPU, None of one that the table does not have.

    :param device_name: as the driver states it, ``NVIDIA H100 80GB HBM3``.
    :param precision: of the cell; mixed precision, ``amp``, computes its products in fp16 or bf16.
    """
    for gpu in PEAKS:
        if device_name and re.search(gpu.name, device_name, re.IGNORECASE):
            figure = gpu.tflops.get("fp16" if precision == "amp" else precision or "")
            return None if figure is None else Peak(figure * 1e12, gpu.source)
    return None
