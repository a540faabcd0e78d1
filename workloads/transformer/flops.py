"""The floating-point operations of training a decoder, by the two usual conventions."""

from __future__ import annotations

# Operations per weight and token: a product and a sum, in one forward and two backward products.
PER_WEIGHT = 6


def flops_per_token(facts):
    """Return by convention the operations that one token of a sequence costs.

    Both count 6 for every weight but those of the input embedding, which is a look-up, and the
    products of queries with keys and of weights with values: 12 L h s where every position sees
    every other, as ``torchtitan`` counts; ``nvidia`` has the half that a causal mask leaves.
    Neither counts what activation checkpointing computes again. For Llama 3 8B with sequences of
    8,192 and 14,451 tokens/s a GPU these give the 744 TFLOP/s that NVIDIA printed
    (NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary.md), and 837.

    :param facts: ``parameters``, ``embedding_parameters``, ``layers``, ``hidden`` and
        ``sequence_length`` of the model.
    """
    weights = PER_WEIGHT * (facts["parameters"] - facts["embedding_parameters"])
    attention = 2 * PER_WEIGHT * facts["layers"] * facts["hidden"] * facts["sequence_length"]
    return {"nvidia": weights + attention // 2, "torchtitan": weights + attention}
