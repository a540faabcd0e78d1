"""The layers of transformers: attention with or without rotary positions, norms, feed-forward.

Weights are laid out by the modules and set by :func:`initialise`, so that a model can be built on
the ``meta`` device, sharded, and only then take memory.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

WEIGHT_DEVIATION = 0.02  # Radford et al. 2019 (GPT-2); Devlin et al. 2018 (BERT)


class RMSNorm(nn.Module):
    """Root mean square normalisation, without mean or bias (Zhang and Sennrich 2019)."""

    def __init__(self, hidden: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


def rotary_table(
    length: int, width: int, base: float, device: torch.device | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosine and sine of the angle of each position, both ``(length, width / 2)``.

    Su et al. 2021 (RoFormer), section 3.4.2: position m turns the pair i by m * base^(-2i / width).

    :param width: of a head.
    """
    rates = base ** (-torch.arange(0, width, 2, device=device, dtype=torch.float32) / width)
    angles = torch.outer(torch.arange(length, device=device, dtype=torch.float32), rates)
    return angles.cos(), angles.sin()


def rotated(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """Return queries or keys `(batch, heads, length, width)`, turned by their positions.

    Pair i is the elements i and i + width / 2, which any order of the weights' rows can stand for.
    """
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)
    return turned.to(x.dtype)


def repeats_heads(device_type: str, dtype: torch.dtype) -> bool:
    """Return whether a fused attention needs keys and values once for each query's head.

    On a GPU flash attention alone takes fewer of them than queries, and it computes in no fp32; the
    memory-efficient form would, but not with fewer. Asked for both, PyTorch takes its unfused form
    and says nothing (pytorch/pytorch#181528, #154363). On a CPU the fused form takes either.
    """
    return device_type == "cuda" and dtype is torch.float32


class Attention(nn.Module):
    """Attention of several heads, of which groups share keys and values where there are fewer.

    Vaswani et al. 2017, section 3.2; groups: Ainslie et al. 2023.

    :param bias: whether the projections add one, as in BERT.
    :param causal: whether a position sees only itself and those before it.
    """

    def __init__(
        self, hidden: int, heads: int, kv_heads: int, *, bias: bool = False, causal: bool = True
    ) -> None:
        super().__init__()
        self.width = hidden // heads
        self.sharing, self.causal = heads // kv_heads, causal
        self.query = nn.Linear(hidden, hidden, bias=bias)
        self.key = nn.Linear(hidden, kv_heads * self.width, bias=bias)
        self.value = nn.Linear(hidden, kv_heads * self.width, bias=bias)
        self.output = nn.Linear(hidden, hidden, bias=bias)

    def forward(
        self,
        x: torch.Tensor,
        positions: tuple[torch.Tensor, torch.Tensor] | None = None,
        mask: torch.Tensor | None = None,
        dropout: float = 0.0,
    ) -> torch.Tensor:
        """Return the same shape as `x`, ``(batch, length, hidden)``.

        :param positions: of :func:`rotary_table`; None turns nothing.
        :param mask: true where a query may see a key, broadcast to (batch, heads, length, length);
            not for a causal attention.
        :param dropout: share of the attention's weights that are dropped.
        """
        query, key, value = (
            part.unflatten(-1, (-1, self.width)).transpose(1, 2)
            for part in (self.query(x), self.key(x), self.value(x))
        )
        if positions is not None:
            query, key = rotated(query, *positions), rotated(key, *positions)
        grouped = self.sharing > 1
        if grouped and repeats_heads(query.device.type, query.dtype):
            key, value = (part.repeat_interleave(self.sharing, 1) for part in (key, value))
            grouped = False
        seen = functional.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=mask,
            dropout_p=dropout,
            is_causal=self.causal,
            enable_gqa=grouped,
        )
        return self.output(seen.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    """The feed-forward layer whose first projection is gated by a second (Shazeer 2020)."""

    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.gate = nn.Linear(hidden, inner, bias=False)
        self.rise = nn.Linear(hidden, inner, bias=False)
        self.output = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.output(functional.silu(self.gate(x)) * self.rise(x))


@torch.no_grad()
def initialise(model: nn.Module, seed: int, output_share: float = 1.0) -> int:
    """Set all weights: the same on any number of ranks, sharded or not.

    Matrices are normally distributed, those named ``output`` below a block narrower by
    `output_share`; scales are 1, biases 0.

    :returns: the sum of the drawn numbers' bits, which is the same where the same was drawn.
    """
    chance: torch.Generator | None = None
    drawn = 0
    for name, weight in model.named_parameters():
        chance = chance or torch.Generator(weight.device).manual_seed(seed)
        if weight.dim() < 2:
            weight.fill_(0.0 if name.endswith("bias") else 1.0)
            continue
        share = output_share if ".output.weight" in name else 1.0
        whole = torch.empty(weight.shape, device=weight.device)
        whole.normal_(0, WEIGHT_DEVIATION * share, generator=chance)
        drawn += int(whole.view(torch.int32).sum(dtype=torch.int64))
        if hasattr(weight, "device_mesh"):
            # Its import takes longer than PyTorch's own.
            from torch.distributed.tensor import distribute_tensor  # noqa: PLC0415

            whole = distribute_tensor(
                whole, weight.device_mesh, weight.placements, src_data_rank=None
            )
        weight.copy_(whole)
    return drawn
