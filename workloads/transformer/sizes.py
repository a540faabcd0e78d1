"""The sizes of the decoder as one table, and what follows from them. Needs no PyTorch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """The dimensions of a decoder whose output layer has weights of its own.

    ``inner`` is the width of the feed-forward layer, ``base`` that of the rotary positions, and
    ``rate`` the usual learning rate.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int
    base: float = 10000.0
    rate: float = 3e-4

    @property
    def embedding_parameters(self) -> int:
        """Return the weights that tokens are looked up in, which compute nothing."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> int:
        """Return the number of all weights."""
        attention = 2 * self.hidden**2 + 2 * self.hidden * self.hidden // self.heads * self.kv_heads
        block = attention + 3 * self.hidden * self.inner + 2 * self.hidden
        return 2 * self.embedding_parameters + self.layers * block + self.hidden


SIZES = {
    # For a CPU: 10,490,112 weights.
    "10m": Size(8, 256, 8, 4, 768, 8192, rate=1e-3),
    # The depth and width of GPT-2 small (Radford et al. 2019) with the layers of this decoder.
    "125m": Size(12, 768, 12, 4, 2048, 32000, rate=6e-4),
    # TinyLlama 1.1B (Zhang et al. 2024, arXiv 2401.02385, table 1).
    "1b": Size(22, 2048, 32, 4, 5632, 32000, rate=4e-4),
    # Llama 3 8B (Dubey et al. 2024, arXiv 2407.21783, table 3).
    "8b": Size(32, 4096, 32, 8, 14336, 128256, base=500000.0),
}
