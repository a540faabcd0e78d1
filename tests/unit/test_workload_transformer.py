"""The transformer's layers, sizes and operations, by an interpreter that has PyTorch."""

from __future__ import annotations

import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.models import flops as of_reports
from torch_trainers import fork

from transformer.flops import flops_per_token
from transformer.sizes import SIZES

LENGTH = 64
MODEL = f"""
import json, torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformer.decoder import Decoder
from transformer.layers import Attention, RMSNorm, initialise, rotary_table, rotated
from transformer.sizes import SIZES, Size
def built(size, length={LENGTH}, **options):
    with torch.device("meta"):
        return Decoder(size, length, **options)
def tokens(count, vocabulary, length={LENGTH}):
    chance = torch.Generator().manual_seed(7)
    drawn = torch.randint(vocabulary, (count, length + 1), generator=chance)
    return drawn[:, :-1], drawn[:, 1:]
SMALL = Size(2, 32, 4, 2, 48, 64)
"""


def answer(program):
    """Return the JSON that a program prints last."""
    ended = fork("-c", MODEL + program)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def facts_of(name, length):
    size = SIZES[name]
    return {
        "parameters": size.parameters,
        "embedding_parameters": size.embedding_parameters,
        "layers": size.layers,
        "hidden": size.hidden,
        "sequence_length": length,
    }


def test_the_weights_are_as_many_as_published():
    counted = answer(
        "print(json.dumps({name: sum(weight.numel() for weight in built(size).parameters())"
        " for name, size in SIZES.items()}))",
    )
    assert counted == {name: size.parameters for name, size in SIZES.items()}
    assert (counted["8b"], counted["1b"]) == (8_030_261_248, 1_100_048_384)


def test_the_operations_are_those_that_pytorch_counts():
    """The rule counts the weights of the norms too, which no product of matrices has."""
    counted, blind = answer(
        """
model = built(SIZES["10m"])
model.to_empty(device="cpu")
model.initialise(1)
counted = []
for kind in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
    with FlopCounterMode(display=False) as counter, sdpa_kernel(kind):
        model(*tokens(2, 8192)).backward()
    counted.append(counter.get_total_flops())
print(json.dumps(counted))
""",
    )
    size = SIZES["10m"]
    norms = 6 * (2 * size.layers + 1) * size.hidden
    rule = flops_per_token(facts_of("10m", LENGTH))
    assert counted == 2 * LENGTH * (rule["torchtitan"] - norms)
    assert norms < rule["nvidia"] / 1000
    # What the fused attention computes is not counted on a CPU.
    assert counted - blind == 2 * LENGTH * 12 * size.layers * size.hidden * LENGTH


@pytest.mark.parametrize(("convention", "published"), [("nvidia", 744), ("torchtitan", 837)])
def test_the_operations_are_those_of_published_figures(convention, published):
    """14,451 tokens/s a GPU of Llama 3 8B: NVIDIA-NeMo/Megatron-Bridge, performance summary."""
    flops = flops_per_token(facts_of("8b", 8192))[convention]
    assert flops * 14451 / 1e12 == pytest.approx(published, abs=0.5)


@pytest.mark.parametrize("name", SIZES)
def test_reports_reckon_with_the_same_operations(name):
    facts = facts_of(name, 512)
    flops = flops_per_token(facts)
    rules = of_reports.CONVENTIONS.items()
    assert flops == {name: of_reports.flops_per_token(rule, facts) for name, rule in rules}


def test_groups_share_keys_and_values():
    """Two groups are four heads of which pairs have equal keys and values."""
    equal = answer(
        """
torch.manual_seed(1)
few, many = Attention(32, 4, 2), Attention(32, 4, 4)
many.query, many.output = few.query, few.output
with torch.no_grad():
    for name in ("key", "value"):
        shared = getattr(few, name).weight.unflatten(0, (2, 8))
        getattr(many, name).weight.copy_(shared.repeat_interleave(2, 0).flatten(0, 1))
x = torch.randn(3, 10, 32)
place = rotary_table(10, 8, 10000.0)
print(json.dumps(torch.allclose(few(x, place), many(x, place), atol=1e-6)))
""",
    )
    assert equal is True


def test_heads_are_repeated_where_no_fused_attention_takes_groups():
    """On a GPU only flash attention does, which has no fp32. Here both ways give the same."""
    equal, kinds, where = answer(
        """
from torch.nn import functional
from transformer import layers
torch.manual_seed(1)
layer, x = Attention(32, 4, 2), torch.randn(3, 10, 32)
place, whole = rotary_table(10, 8, 10000.0), functional.scaled_dot_product_attention
made, kinds = [], []
def seen(query, key, value, **options):
    kinds.append([query.shape[1], key.shape[1], value.shape[1], options["enable_gqa"]])
    return whole(query, key, value, **options)
functional.scaled_dot_product_attention = seen
where = [[layers.repeats_heads(device, kind) for kind in (torch.float32, torch.bfloat16)]
         for device in ("cuda", "cpu")]
for repeats in (False, True):
    layers.repeats_heads = lambda *_: repeats
    layer.zero_grad()
    layer(x, place).square().sum().backward()
    made.append(torch.cat([weight.grad.flatten() for weight in layer.parameters()]))
print(json.dumps([torch.allclose(*made, rtol=1e-5, atol=1e-6), kinds, where]))
""",
    )
    assert equal is True
    assert kinds == [[4, 2, 2, True], [4, 4, 4, False]]
    assert where == [[True, False], [False, False]]


def test_a_position_sees_none_after_it_and_only_distances_count():
    causal, all_seen, distance = answer(
        """
torch.manual_seed(1)
x = torch.randn(1, 10, 32)
other = x.clone()
other[:, 6:] += 1
place = rotary_table(10, 8, 10000.0)
same = []
for causal in (True, False):
    layer = Attention(32, 4, 2, causal=causal)
    same.append(torch.allclose(layer(x, place)[:, :6], layer(other, place)[:, :6], atol=1e-6))
q, k = torch.randn(2, 8)
cosine, sine = rotary_table(20, 8, 10000.0)
product = [rotated(q, cosine[m], sine[m]) @ rotated(k, cosine[n], sine[n])
           for m, n in ((3, 1), (15, 13), (3, 2))]
print(json.dumps([*same, [abs(float(product[0] - p)) < 1e-5 for p in product[1:]]]))
""",
    )
    assert (causal, all_seen, distance) == (True, False, [True, False])


def test_a_norm_has_root_mean_square_1():
    assert answer(
        "x = RMSNorm(64)(5 + 3 * torch.randn(4, 64))\n"
        "print(json.dumps((x**2).mean(-1).sqrt().tolist()))",
    ) == pytest.approx([1] * 4, abs=1e-3)


def test_checkpointing_changes_no_gradient():
    difference = answer(
        """
gradients = []
for checkpointing in (False, True):
    model = built(SMALL, checkpointing=checkpointing)
    model.to_empty(device="cpu")
    model.initialise(3)
    model(*tokens(2, 64)).backward()
    gradients.append(torch.cat([weight.grad.flatten() for weight in model.parameters()]))
print(json.dumps(float((gradients[0] - gradients[1]).abs().max())))
""",
    )
    assert difference == 0.0
