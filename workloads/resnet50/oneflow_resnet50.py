"""ResNet-50 v1.5 in OneFlow."""

from __future__ import annotations

from oneflow import nn
from resnet50_layers import CLASSES, FEATURES, STEM_FILTERS, blocks


class Bottleneck(nn.Module):
    """1x1, 3x3 (strided) and 1x1 convolutions beside a shortcut."""

    def __init__(self, block):
        super().__init__()
        last = nn.BatchNorm2d(block.filters)
        nn.init.zeros_(last.weight)  # a block begins as its shortcut: a small batch learns steadily
        self.main = nn.Sequential(
            _convolution(block.channels, block.width, 1),
            nn.BatchNorm2d(block.width),
            nn.ReLU(),
            _convolution(block.width, block.width, 3, block.stride),
            nn.BatchNorm2d(block.width),
            nn.ReLU(),
            _convolution(block.width, block.filters, 1),
            last,
        )
        self.relu = nn.ReLU()
        self.shortcut = nn.Identity()
        if block.projects:
            self.shortcut = nn.Sequential(
                _convolution(block.channels, block.filters, 1, block.stride),
                nn.BatchNorm2d(block.filters),
            )

    def forward(self, x):
        return self.relu(self.main(x) + self.shortcut(x))


class ResNet50(nn.Module):
    """The whole network; `(N, 3, H, W)` in, `(N, 1000)` logits out."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            _convolution(3, STEM_FILTERS, 7, 2),
            nn.BatchNorm2d(STEM_FILTERS),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.blocks = nn.Sequential(*(Bottleneck(block) for block in blocks()))
        self.classifier = nn.Linear(FEATURES, CLASSES)
        nn.init.normal_(self.classifier.weight, std=0.01)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, x):
        return self.classifier(self.blocks(self.stem(x)).mean(dim=(2, 3)))


def _convolution(channels, filters, side, stride=1):
    """Return a convolution without bias, its weights scaled by what it feeds (He et al. 2015)."""
    layer = nn.Conv2d(channels, filters, side, stride=stride, padding=side // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer
