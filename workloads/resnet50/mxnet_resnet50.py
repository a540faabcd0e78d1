"""ResNet-50 v1.5 in Gluon."""

from __future__ import annotations

import mxnet as mx
from mxnet.gluon import nn
from resnet50_layers import CLASSES, FEATURES, STEM_FILTERS, blocks


class Bottleneck(nn.HybridBlock):
    """1x1, 3x3 (strided) and 1x1 convolutions beside a shortcut."""

    def __init__(self, block, layout):
        super().__init__()
        with self.name_scope():
            self.body = nn.HybridSequential(prefix="")
            self.body.add(
                _convolution(block.channels, block.width, 1, layout),
                _normalisation(block.width, layout),
                nn.Activation("relu"),
                _convolution(block.width, block.width, 3, layout, block.stride),
                _normalisation(block.width, layout),
                nn.Activation("relu"),
                _convolution(block.width, block.filters, 1, layout),
                _normalisation(block.filters, layout, gamma="zeros"),
            )
            self.shortcut = nn.HybridSequential(prefix="shortcut_")
            if block.projects:
                self.shortcut.add(
                    _convolution(block.channels, block.filters, 1, layout, block.stride),
                    _normalisation(block.filters, layout),
                )

    def hybrid_forward(self, F, x):  # noqa: N803 (Gluon's name)
        return F.Activation(self.body(x) + self.shortcut(x), act_type="relu")


def resnet50(layout="NCHW"):
    """Return the whole network: images in `layout` in, logits of 1000 classes out.

    Each block's last normalisation starts at 0, with which a small batch learns steadily.
    """
    model = nn.HybridSequential(prefix="")
    model.add(
        _convolution(3, STEM_FILTERS, 7, layout, 2),
        _normalisation(STEM_FILTERS, layout),
        nn.Activation("relu"),
        nn.MaxPool2D(3, strides=2, padding=1, layout=layout),
    )
    model.add(*(Bottleneck(block, layout) for block in blocks()))
    model.add(
        nn.GlobalAvgPool2D(layout=layout),
        nn.Dense(CLASSES, in_units=FEATURES, weight_initializer=mx.init.Normal(0.01)),
    )
    return model


def parameter_count(model):
    """Return how many numbers are trained; statistics of normalisation are not."""
    return sum(parameter.data().size for parameter in trained(model))


def trained(model):
    """Return the parameters that have gradients, in the order of their layers."""
    return [each for each in model.collect_params().values() if each.grad_req != "null"]


def _convolution(channels, filters, side, layout, stride=1):
    """Return a convolution that starts as He et al. 2015 (arXiv 1502.01852) say, by fan-out.

    MXNet's own initialiser of that name takes the fan-out from the wrong axes in NHWC.
    """
    deviation = (2 / (filters * side * side)) ** 0.5
    return nn.Conv2D(
        filters,
        side,
        strides=stride,
        padding=side // 2,
        use_bias=False,
        layout=layout,
        in_channels=channels,
        weight_initializer=mx.init.Normal(deviation),
    )


def _normalisation(channels, layout, gamma="ones"):
    return nn.BatchNorm(
        axis=layout.index("C"), epsilon=1e-5, gamma_initializer=gamma, in_channels=channels
    )
