"""The layers of ResNet-50 v1.5, from which each trainer builds the model in its framework.

Deep Residual Learning for Image Recognition (He et al., 2015). v1.5 strides in the 3x3 convolution
of a stage's first block, v1 in the 1x1 before it.
"""

from __future__ import annotations

from dataclasses import dataclass

CLASSES = 1000
STEM_FILTERS = 64
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
EXPANSION = 4
FEATURES = STAGES[-1][0] * EXPANSION
DOWNSAMPLING = 32  # the last stage sees the image 32 times smaller


@dataclass(frozen=True)
class Block:
    """A bottleneck: 1x1 to `width`, 3x3 with `stride`, 1x1 to `filters`, beside a shortcut."""

    channels: int
    width: int
    stride: int

    @property
    def filters(self):
        """Return the number of output channels."""
        return self.width * EXPANSION

    @property
    def projects(self):
        """Return whether the shortcut needs a 1x1 convolution, because the shapes differ."""
        return self.stride != 1 or self.channels != self.filters


def blocks():
    """Return the 16 bottlenecks, from the stem to the classifier."""
    bottlenecks = []
    channels = STEM_FILTERS
    for width, count, stride in STAGES:
        for index in range(count):
            bottlenecks.append(Block(channels, width, stride if index == 0 else 1))
            channels = bottlenecks[-1].filters
    return bottlenecks
