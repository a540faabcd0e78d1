"""ResNet-50 v1.5 in PyTorch."""

from __future__ import annotations

import torch
from resnet50_layers import CLASSES, FEATURES, STEM_FILTERS, Block, blocks
from torch import nn
from torch.nn.utils import skip_init


class Bottleneck(nn.Module):
    """1x1, 3x3 (strided) and 1x1 convolutions beside a shortcut."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.conv1 = _convolution(block.channels, block.width, 1)
        self.bn1 = nn.BatchNorm2d(block.width)
        self.conv2 = _convolution(block.width, block.width, 3, block.stride)
        self.bn2 = nn.BatchNorm2d(block.width)
        self.conv3 = _convolution(block.width, block.filters, 1)
        self.bn3 = nn.BatchNorm2d(block.filters)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Sequential()
        if block.projects:
            self.shortcut = nn.Sequential(
                _convolution(block.channels, block.filters, 1, block.stride),
                nn.BatchNorm2d(block.filters),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(y + self.shortcut(x))


class ResNet50(nn.Module):
    """The whole network; `(N, 3, H, W)` in, `(N, classes)` logits out."""

    def __init__(self, classes: int = CLASSES, zero_init_residual: bool = False) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            _convolution(3, STEM_FILTERS, 7, 2),
            nn.BatchNorm2d(STEM_FILTERS),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.blocks = nn.Sequential(*(Bottleneck(block) for block in blocks()))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = skip_init(nn.Linear, FEATURES, classes)
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
