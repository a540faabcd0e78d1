"""ResNet-50 v1.5 in PyTorch: the stride of a stage sits in its first 3x3 convolution.

Deep Residual Learning for Image Recognition (He et al., 2015); v1 strides in the 1x1 before it.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import skip_init

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
EXPANSION = 4


class Bottleneck(nn.Module):
    """1x1, 3x3 (strided) and 1x1 convolutions beside a shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        wide = width * EXPANSION
        self.conv1 = _convolution(channels, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _convolution(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = _convolution(width, wide, 1)
        self.bn3 = nn.BatchNorm2d(wide)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels != wide:
            self.shortcut = nn.Sequential(
                _convolution(channels, wide, 1, stride), nn.BatchNorm2d(wide)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(y + self.shortcut(x))


class ResNet50(nn.Module):
    """The whole network; `(N, 3, H, W)` in, `(N, classes)` logits out."""

    def __init__(self, classes: int = 1000, zero_init_residual: bool = False) -> None:
        super().__init__()
        blocks = []
        channels = 64
        for width, count, stride in STAGES:
            for index in range(count):
                blocks.append(Bottleneck(channels, width, stride if index == 0 else 1))
                channels = width * EXPANSION
        self.stem = nn.Sequential(
            _convolution(3, 64, 7, 2),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = skip_init(nn.Linear, channels, classes)
        self._initialise(zero_init_residual)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))

    def _initialise(self, zero_init_residual: bool) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, Bottleneck) and zero_init_residual:
                nn.init.zeros_(module.bn3.weight)
        nn.init.normal_(self.classifier.weight, std=0.01)
        nn.init.zeros_(self.classifier.bias)


def _convolution(channels: int, filters: int, side: int, stride: int = 1) -> nn.Module:
    """Return a convolution whose weights are still to be set."""
    return skip_init(
        nn.Conv2d, channels, filters, side, stride=stride, padding=side // 2, bias=False
    )
