"""The utilization of a published row, derived from its throughput and its model's dimensions.

``mfu_by`` of a row: ``formula`` (of ``models.flops``), what that formula needs of the model and the
row's own factors do not tell, ``peak_tflops`` of a device, and ``again`` where checkpoints of the
activations make the device compute attention and weights once more: how many weights, true for all.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ..models.flops import flops_per_token, utilisation

__all__ = ["TOLERANCE", "derived"]

# How far a printed figure may lie from the derived one: both are rounded.
TOLERANCE = 0.005


def derived(row: Mapping[str, Any]) -> Dict[str, float]:
    """Return mfu and hfu in percent and hardware_tflops (TFLOP/s of a device) of a row.

    A forward pass once more costs 2 FLOPs a weight and 4Lhs of the attention a token, a third of
    a training step's (Korthikanti et al. 2022, arXiv 2205.05198, section 4).

    :raises ValueError: a dimension that the formula needs is missing.
    """
    by = {**(row.get("own_factors") or {}), **row["mfu_by"]}
    of_token = flops_per_token(by["formula"], by)
    if of_token is None:
        raise ValueError(f"{row['id']}: mfu_by lacks a dimension that {by['formula']} needs")
    tokens = 1 if row["unit"] == "tokens" else by["sequence_length"]
    hardware = flops = tokens * of_token
    if by.get("again"):
        weights = by["parameters"] if by["again"] is True else by["again"]
        attention = 4 * by["layers"] * by["hidden"] * by["sequence_length"]
        hardware += tokens * (2 * weights + attention)
    rate, devices, peak = row["throughput"], row["world_size"], by["peak_tflops"] * 1e12
    return {
        "mfu": 100 * (utilisation(flops, rate, devices, peak) or 0.0),
        "hfu": 100 * (utilisation(hardware, rate, devices, peak) or 0.0),
        "hardware_tflops": hardware * rate / devices / 1e12,
    }
