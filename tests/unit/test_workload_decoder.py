"""The decoder's trainer itself, run by an interpreter that has PyTorch."""

from __future__ import annotations

import json
import math
import re
from collections import Counter

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.models.flops import PEAKS, peak_of
from torch_trainers import FOLDER, facts, fork, interpreter, losses, run

from common.figures import TimedLine, figures, quantile
from transformer.flops import flops_per_token

TRAINER = "transformer/train_decoder.py"
SHORT = ("--warmup=1", "--device=cpu", "--sequence-length=32")


def trained(*options: str, ranks: int = 1) -> str:
    """Return what a training prints, which must succeed without warnings."""
    ended = fork(TRAINER, *SHORT, *options, ranks=ranks)
    assert ended.returncode == 0, ended.stderr
    assert "Error" not in ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def alone() -> str:
    return trained("--batch-size=4", "--iterations=5")


def test_one_rank_learns_and_states_what_it_trained(alone):
    header = facts(alone, "header")
    assert header["model"]["parameters"] == 10_490_112
    assert header["own_factors"]["sequence_length"] == header["units_per_sample"] == 32
    assert losses(alone)[0] == pytest.approx(math.log(8192), abs=0.3)
    assert losses(alone)[-1] < losses(alone)[0] - 0.5


def test_the_figures_are_those_of_the_lines(alone):
    figure = facts(alone, "end")["figures"]
    steps = [float(value) for value in re.findall(r"step_time (\S+) s", alone)][1:]
    assert figure["step_seconds_p50"] == pytest.approx(sorted(steps)[2], abs=2e-6)
    assert figure["step_seconds_p99"] == pytest.approx(sorted(steps)[4], rel=0.3)
    assert sorted(steps)[3] < figure["step_seconds_p99"] <= sorted(steps)[4] + 1e-6
    flops = flops_per_token(facts(alone, "header")["model"])
    rate = 4 * 32 * len(steps) / sum(steps)
    assert figure["flops_per_second"] == pytest.approx(flops["nvidia"] * rate, rel=1e-4)
    for name, share in figure["mfu"].items():
        peak = figure["peak_flops_per_second"]
        assert share == pytest.approx(flops[name] * rate / peak, rel=1e-4)
        assert 0 < share < 2
    parts = figure["first_step"]
    assert list(parts) == ["launch", "import", "build", "first_step"]
    assert all(seconds > 0 for seconds in parts.values())
    memory = facts(alone, "end")["peak_memory_mib"]
    assert figure["peak_memory_bytes"] == pytest.approx(memory * 2**20, rel=1e-3)


def test_the_log_is_read_in_tokens(alone):
    read = log_facts(logs.read(alone), parameters={"warmup": 1, "iterations": 5})
    assert (read["unit"], read["count"], read["reason"]) == ("tokens/s", 5, "")
    assert read["summary"]["figures"]["mfu"]["nvidia"] > 0
    assert read["identity"]["architecture"]["size"] == "10m"
    # The clock runs from the end of the warm-up.
    assert read["wall_clock_throughput"] == pytest.approx(read["harmonic_throughput"], rel=0.01)


@pytest.mark.parametrize("sharding", ["ddp", "fsdp"])
def test_the_loss_does_not_depend_on_the_number_of_ranks(alone, sharding):
    shared = trained("--batch-size=2", "--iterations=5", f"--sharding={sharding}", ranks=2)
    assert facts(shared, "header")["world_size"] == 2
    assert losses(shared) == pytest.approx(losses(alone), abs=2e-4)
    assert len({*losses(shared)}) == 6
    assert facts(shared, "end")["weights_equal"] is True


def test_bf16_checkpointing_and_shards_together(alone):
    text = trained(
        *("--batch-size=2", "--iterations=1", "--sharding=fsdp", "--precision=bf16"),
        *("--activation-checkpointing", "--text"),
        ranks=2,
    )
    header = facts(text, "header")
    assert (header["precision"], header["data"]) == ("bf16", None)
    whole = b"".join(path.read_bytes() for path in sorted(FOLDER.rglob("*.py")))
    assert header["text_bytes"] == len(whole)
    shares = [count / len(whole) for count in Counter(whole).values()]
    entropy = -sum(share * math.log(share) for share in shares)
    assert header["text_entropy"] == pytest.approx(entropy, abs=1e-5)
    assert losses(text)[0] == pytest.approx(losses(alone)[0], abs=0.3)


def test_another_seed_is_another_loss(alone):
    other = trained("--batch-size=4", "--iterations=1", "--seed=2")
    assert losses(other)[0] != pytest.approx(losses(alone)[0], abs=1e-3)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--data=real", "there is no reader of tokens from a data set"),
        ("--data-dir=.", "--data-dir is only read with a data set, of which there is no reader"),
        ("--workers=2", "--workers is only read with a data set, of which there is no reader"),
        ("--sharding=fsdp --bucket-mb=8", "--bucket-mb is only read with --sharding ddp"),
        ("--size=70b", "invalid choice: '70b'"),
        ("--sequence-length=0", "0 is not at least 1"),
    ],
)
def test_what_cannot_be_is_refused_before_pytorch_is_imported(option, message):
    if not interpreter():
        pytest.skip("no torch: set SCALEBENCH_FRAMEWORK_PYTHON or run playbooks/provision.yml")
    ended = run([interpreter(), "-X", "importtime", TRAINER, *option.split()])
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "| torch" not in ended.stderr


def test_quantiles_lie_on_a_line_between_two_values():
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([4.0, 1.0], 0.25) == 1.75
    assert quantile([7.0], 0.99) == 7.0


def test_the_peak_is_of_one_device_and_the_share_of_all():
    made = figures(
        [1.0, 3.0], {"launch": 1.0}, 2.0, 100, {"nvidia": 8.0}, (1000.0, 250.0), "measured"
    )
    assert made["flops_per_second"] == 8.0 * 100 * 2 / 4
    assert (made["mfu"], made["peak_flops_per_second"]) == ({"nvidia": 0.4}, 250.0)
    assert made["peak_memory_bytes"] == 2 << 20
    unknown = figures([1.0], {}, 2.0, 100, {"nvidia": 8.0}, None, None)
    assert (unknown["mfu"], unknown["peak_flops_per_second"]) == (None, None)


def test_a_line_counts_units():
    class Part:
        def end(self, name):
            assert name == "first_step"

    line = TimedLine(lambda samples, unit, **_: f"{samples} {unit}", Part(), 32, unit="tokens")
    assert [line(samples=4, seconds=number) for number in (1.0, 2.0)] == ["128 tokens"] * 2
    assert line.seconds == [1.0, 2.0]


# The rates of a linear layer of the same size, the best of three, and of the peak that is measured.
RATES = """
import time, torch
from common.pytorch_peak import SIDE, measured_peak
one, two = (torch.randn(SIDE, SIDE).to(torch.bfloat16) for _ in range(2))
seconds = []
for _ in range(3):
    begin = time.perf_counter()
    torch.nn.functional.linear(one, two)
    seconds.append(time.perf_counter() - begin)
print(2 * SIDE**3 / min(seconds), measured_peak(torch.bfloat16))
"""


def test_no_layer_computes_faster_than_the_peak():
    """A CPU without instructions for bf16 multiplies some layouts ten times slower than others."""
    ended = fork("-c", RATES)
    assert ended.returncode == 0, ended.stderr
    layer, peak = map(float, ended.stdout.split())
    assert peak > 0.5 * layer


def test_the_peaks_of_gpus_are_those_of_the_report():
    """The nodes do not have the collection, and its table not PyTorch."""
    names = (
        *("Tesla V100-SXM2-16GB", "Tesla V100-PCIE-32GB", "Tesla T4", "NVIDIA A10"),
        *("NVIDIA A100-SXM4-80GB", "NVIDIA L40S", "NVIDIA H100 NVL", "NVIDIA H100 PCIe"),
        *("NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200", "NVIDIA GeForce RTX 4090"),
    )
    asked = [(name, kind) for name in names for kind in ("fp32", "tf32", "bf16", "amp")]
    program = (
        "import json, sys\nfrom common.pytorch_peak import GPUS, peak_of_gpu\n"
        f"print(json.dumps([len(GPUS), [peak_of_gpu(*pair) for pair in {asked!r}]]))"
    )
    count, ours = json.loads(fork("-c", program).stdout)
    theirs = [peak_of(*pair) for pair in asked]
    assert [peak and peak[0] for peak in ours] == [
        peak and peak.flops_per_second for peak in theirs
    ]
    assert count == len(PEAKS)
