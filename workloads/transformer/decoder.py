"""A decoder of the Llama family (Touvron et al. 2023): tokens in, the loss of the next ones out."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from transformer.layers import Attention, RMSNorm, SwiGLU, initialise, rotary_table
from transformer.sizes import Size


class DecoderBlock(nn.Module):
    """Attention and feed-forward layer, each normalised before and added to what came in."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(size.hidden)
        self.attention = Attention(size.hidden, size.heads, size.kv_heads)
        self.feed_forward_norm = RMSNorm(size.hidden)
        self.feed_forward = SwiGLU(size.hidden, size.inner)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), (cosine, sine))
        return x + self.feed_forward(self.feed_forward_norm(x))


class Decoder(nn.Module):
    """The whole model.

    :param length: of the sequences.
    :param checkpointing: compute each block's activations again in the backward pass, rather than
        keep them (Chen et al. 2016).
    """

    def __init__(self, size: Size, length: int, checkpointing: bool = False) -> None:
        super().__init__()
        self.size, self.length, self.checkpointing = size, length, checkpointing
        self.embedding = nn.Embedding(size.vocabulary, size.hidden)
        self.blocks = nn.ModuleList(DecoderBlock(size) for _ in range(size.layers))
        self.norm = RMSNorm(size.hidden)
        self.classifier = nn.Linear(size.hidden, size.vocabulary, bias=False)
        for name, table in zip(("cosine", "sine"), self._positions(), strict=True):
            self.register_buffer(name, table, persistent=False)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean cross-entropy in nats.

        :param tokens: ``(batch, length)``.
        :param targets: the token that follows each of them.
        """
        x = self.embedding(tokens)
        for block in self.blocks:
            if self.checkpointing:
                x = checkpoint(block, x, self.cosine, self.sine, use_reentrant=False)
            else:
                x = block(x, self.cosine, self.sine)
        logits = self.classifier(self.norm(x))
        return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    def shards(self) -> Iterator[tuple[list[nn.Module], bool]]:
        """Yield what is gathered together, and whether it is freed after its forward pass.

        The embedding and the classifier are each the largest matrix, and needed at opposite ends of
        a step. The backward pass begins with the classifier, so it is not freed. As
        pytorch/torchtitan@b5bcd76, torchtitan/distributed/fsdp.py:245-265.
        """
        yield [self.embedding], True
        for block in self.blocks:
            yield [block], True
        yield [self.norm, self.classifier], False

    def initialise(self, seed: int) -> int:
        """Set all weights, and the tables of the positions, on whatever device they are.

        :returns: as ``layers.initialise``.
        """
        # Each output adds to the residual stream: Radford et al. 2019 (GPT-2), section 2.3.
        drawn = initialise(self, seed, (2 * self.size.layers) ** -0.5)
        device = self.cosine.device
        for table, values in zip((self.cosine, self.sine), self._positions(device), strict=True):
            table.copy_(values)
        return drawn

    def _positions(self, device: torch.device | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        width = self.size.hidden // self.size.heads
        return rotary_table(self.length, width, self.size.base, device)
