"""ResNet-50 v1.5 in Paddle's dynamic graph."""

from __future__ import annotations

from paddle import Tensor, nn
from paddle.nn.initializer import Constant, KaimingNormal, Normal
from resnet50_layers import CLASSES, FEATURES, STEM_FILTERS, Block, blocks


class Bottleneck(nn.Layer):
    """1x1, 3x3 (strided) and 1x1 convolutions beside a shortcut."""

    def __init__(self, block: Block, layout: str) -> None:
        super().__init__()
        self.main = nn.Sequential(
            _convolution(block.channels, block.width, 1, layout=layout),
            nn.BatchNorm2D(block.width, data_format=layout),
            nn.ReLU(),
            _convolution(block.width, block.width, 3, block.stride, layout),
            nn.BatchNorm2D(block.width, data_format=layout),
            nn.ReLU(),
            _convolution(block.width, block.filters, 1, layout=layout),
            # At 0 a block begins as its shortcut: a small batch learns steadily.
            nn.BatchNorm2D(block.filters, weight_attr=Constant(0.0), data_format=layout),
        )
        self.relu = nn.ReLU()
        self.shortcut = nn.Identity()
        if block.projects:
            self.shortcut = nn.Sequential(
                _convolution(block.channels, block.filters, 1, block.stride, layout),
                nn.BatchNorm2D(block.filters, data_format=layout),
            )

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.main(x) + self.shortcut(x))


class ResNet50(nn.Layer):
    """The whole network; images in, laid out as `layout` (NCHW or NHWC), `(N, 1000)` logits out."""

    def __init__(self, layout: str = "NCHW") -> None:
        super().__init__()
        self.stem = nn.Sequential(
            _convolution(3, STEM_FILTERS, 7, 2, layout),
            nn.BatchNorm2D(STEM_FILTERS, data_format=layout),
            nn.ReLU(),
            nn.MaxPool2D(3, stride=2, padding=1, data_format=layout),
        )
        self.blocks = nn.Sequential(*(Bottleneck(block, layout) for block in blocks()))
        self.pool = nn.AdaptiveAvgPool2D(1, data_format=layout)
        self.classifier = nn.Linear(FEATURES, CLASSES, weight_attr=Normal(0.0, 0.01))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.pool(self.blocks(self.stem(x))).flatten(1))


def _convolution(
    channels: int, filters: int, side: int, stride: int = 1, layout: str = "NCHW"
) -> nn.Layer:
    """Return a convolution without bias, its weights scaled by what it feeds (He et al. 2015)."""
    fan_out = filters * side * side
    return nn.Conv2D(
        channels,
        filters,
        side,
        stride=stride,
        padding=side // 2,
        weight_attr=KaimingNormal(fan_in=fan_out),
        bias_attr=False,
        data_format=layout,
    )
