"""FLOPs by named formulas, against figures that others print."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.models.flops import (
    CONVENTIONS,
    PEAKS,
    flops_per_token,
    peak_of,
    utilisation,
)

# Llama 3 8B (Grattafiori et al. 2024, arXiv 2407.21783, table 3): 32 layers of width 4096, a
# vocabulary of 128256; its 8,030,261,248 parameters are counted from these and the MLP's 14336.
LLAMA_8B = {
    "parameters": 8030261248,
    "embedding_parameters": 128256 * 4096,
    "layers": 32,
    "hidden": 4096,
    "sequence_length": 8192,
}


def test_nvidias_formula_gives_the_flops_that_nvidia_prints():
    flops = flops_per_token("nvidia_decoder", LLAMA_8B)
    # 14451 tokens/s/GPU and 744 TFLOP/s/GPU: Megatron-Bridge docs/performance-summary.md.
    assert flops * 14451 / 1e12 == pytest.approx(744, abs=0.5)


def test_torchtitans_formula_counts_attention_as_if_it_were_not_causal():
    both = [flops_per_token(name, LLAMA_8B) for name in CONVENTIONS.values()]
    assert both[1] - both[0] == 6 * 32 * 4096 * 8192
    assert both[1] * 14451 / 1e12 == pytest.approx(837, abs=0.5)


def test_where_each_position_sees_all_attention_is_whole():
    whole = flops_per_token("torchtitan_decoder", LLAMA_8B)
    assert flops_per_token("encoder", LLAMA_8B) == whole
    assert flops_per_token("nvidia_decoder", {**LLAMA_8B, "causal": False}) == whole


def test_of_bert_the_products_are_counted_that_pytorch_counts():
    """FlopCounterMode counts 69,928,989,696 of a sequence (tests/unit/test_workload_bert.py)."""
    base = {
        **{"layers": 12, "hidden": 768, "sequence_length": 128},
        **{"feed_forward": 3072, "vocabulary": 30522, "predictions": 20},
    }
    assert flops_per_token("bert_pretraining", base) * 128 == 69928989696
    # The encoder alone is 72Lh^2 + 12Lhs.
    alone = {**base, "predictions": 0}
    assert flops_per_token("bert_pretraining", alone) == pytest.approx(
        72 * 12 * 768**2 + 12 * 12 * 768 * 128, rel=1e-3
    )
    for missing in base:
        rest = {key: value for key, value in base.items() if key != missing}
        assert flops_per_token("bert_pretraining", rest) is None


@pytest.mark.parametrize("missing", LLAMA_8B)
def test_a_model_that_lacks_a_dimension_has_no_flops(missing):
    model = {key: value for key, value in LLAMA_8B.items() if key != missing}
    assert flops_per_token("nvidia_decoder", model) is None


def test_utilisation_is_of_all_devices():
    assert utilisation(2.0, 100.0, 4, 100.0) == 0.5
    assert utilisation(2.0, 100.0, 4, 0) is None


@pytest.mark.parametrize(
    ("name", "precision", "tflops"),
    [
        ("NVIDIA H100 80GB HBM3", "amp", 989),
        ("NVIDIA H100 80GB HBM3", "fp32", 67),
        ("NVIDIA H100 PCIe", "bf16", 756),
        ("NVIDIA H100 NVL", "bf16", 835),
        ("NVIDIA H200", "bf16", 989),
        ("NVIDIA A100-SXM4-40GB", "tf32", 156),
        ("NVIDIA A10", "fp16", 125),
        ("Tesla V100-SXM2-16GB", "amp", 125),
        ("Tesla V100-SXM2-16GB", "bf16", None),
        ("Tesla V100-PCIE-16GB", "fp32", 14),
        ("Tesla T4", "amp", 65),
        ("NVIDIA B200", "bf16", 2250),
        ("NVIDIA GB200", "bf16", None),
        ("NVIDIA H20", "bf16", None),
        ("NVIDIA H200 NVL", "bf16", None),
        ("NVIDIA H100 80GB HBM3", "int8", None),
        ("NVIDIA A1000", "fp16", None),
        (None, "amp", None),
        ("NVIDIA H100 80GB HBM3", None, None),
    ],
)
def test_peaks_by_the_names_that_drivers_give(name, precision, tflops):
    peak = peak_of(name, precision)
    assert (peak and peak.flops_per_second / 1e12) == tflops


def test_every_peak_has_a_source():
    assert all(gpu.source for gpu in PEAKS)
