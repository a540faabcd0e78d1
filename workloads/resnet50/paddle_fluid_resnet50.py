"""ResNet-50 v1.5 in the dynamic graph of Paddle 1.8, which Paddle 2 renamed throughout."""

from __future__ import annotations

from paddle.fluid import ParamAttr, dygraph
from paddle.fluid.dygraph import BatchNorm, Linear, Pool2D, Sequential
from paddle.fluid.initializer import Constant, MSRAInitializer, Normal
from paddle.fluid.layers import elementwise_add, reshape
from resnet50_layers import CLASSES, FEATURES, STEM_FILTERS, blocks


class Bottleneck(dygraph.Layer):
    """1x1, 3x3 (strided) and 1x1 convolutions beside a shortcut."""

    def __init__(self, block):
        super().__init__()
        # At 0 a block begins as its shortcut: a small batch learns steadily.
        last = BatchNorm(block.filters, param_attr=ParamAttr(initializer=Constant(0.0)))
        self.main = Sequential(
            _convolution(block.channels, block.width, 1),
            BatchNorm(block.width, act="relu"),
            _convolution(block.width, block.width, 3, block.stride),
            BatchNorm(block.width, act="relu"),
            _convolution(block.width, block.filters, 1),
            last,
        )
        self.shortcut = Sequential()
        if block.projects:
            self.shortcut = Sequential(
                _convolution(block.channels, block.filters, 1, block.stride),
                BatchNorm(block.filters),
            )

    def forward(self, x):
        return elementwise_add(self.main(x), self.shortcut(x), act="relu")


class ResNet50(dygraph.Layer):
    """The whole network; `(N, 3, H, W)` in, `(N, 1000)` logits out."""

    def __init__(self):
        super().__init__()
        self.stem = Sequential(
            _convolution(3, STEM_FILTERS, 7, 2),
            BatchNorm(STEM_FILTERS, act="relu"),
            Pool2D(3, "max", pool_stride=2, pool_padding=1),
        )
        self.blocks = Sequential(*(Bottleneck(block) for block in blocks()))
        self.pool = Pool2D(pool_type="avg", global_pooling=True)
        weights = ParamAttr(initializer=Normal(0.0, 0.01))
        self.classifier = Linear(FEATURES, CLASSES, param_attr=weights)

    def forward(self, x):
        return self.classifier(reshape(self.pool(self.blocks(self.stem(x))), (-1, FEATURES)))


def _convolution(channels, filters, side, stride=1):
    """Return a convolution without bias, its weights scaled by what it feeds (He et al. 2015)."""
    weights = MSRAInitializer(uniform=False, fan_in=filters * side * side)
    return dygraph.Conv2D(
        channels,
        filters,
        side,
        stride=stride,
        padding=side // 2,
        param_attr=ParamAttr(initializer=weights),
        bias_attr=False,
    )
