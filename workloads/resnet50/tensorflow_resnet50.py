"""ResNet-50 v1.5 in TensorFlow, 1.15 to 2.15.

Where a stride meets an even size, TensorFlow's own padding (`same`) adds its one row and column
behind the image, as in NVIDIA's TensorFlow model; PyTorch's adds them in front.
"""

from __future__ import annotations

import tensorflow.compat.v2 as tf
from resnet50_layers import CLASSES, STEM_FILTERS, blocks

EPSILON = 1e-5
KEPT = 0.9  # of the running means and variances at each step


def resnet50(size, layout):
    """Return the model: images to `(N, classes)` logits in the policy's number format.

    :param size: height and width of the images.
    :param layout: `NHWC` or `NCHW`, of the images and inside.
    """
    channels_last = layout == "NHWC"
    shape = (size, size, 3) if channels_last else (3, size, size)
    images = tf.keras.Input(shape)
    layers = _Layers("channels_last" if channels_last else "channels_first")
    x = layers.normalise(layers.convolve(images, STEM_FILTERS, 7, 2))
    x = tf.keras.layers.MaxPool2D(3, 2, "same", layers.data_format)(tf.nn.relu(x))
    for block in blocks():
        x = layers.bottleneck(x, block)
    x = tf.keras.layers.GlobalAveragePooling2D(layers.data_format)(x)
    initial = tf.keras.initializers.RandomNormal(stddev=0.01)
    return tf.keras.Model(images, tf.keras.layers.Dense(CLASSES, kernel_initializer=initial)(x))


class _Layers:
    """The layers of one memory layout."""

    def __init__(self, data_format):
        self.data_format = data_format

    def bottleneck(self, x, block):
        """Add 1x1, 3x3 (strided) and 1x1 convolutions beside a shortcut."""
        y = tf.nn.relu(self.normalise(self.convolve(x, block.width, 1)))
        y = tf.nn.relu(self.normalise(self.convolve(y, block.width, 3, block.stride)))
        y = self.normalise(self.convolve(y, block.filters, 1), initial="zeros")
        if block.projects:
            x = self.normalise(self.convolve(x, block.filters, 1, block.stride))
        return tf.nn.relu(x + y)

    def convolve(self, x, filters, side, stride=1):
        """Add a convolution; its weights are drawn as He et al., 2015 (arXiv 1502.01852) say."""
        return tf.keras.layers.Conv2D(
            filters,
            side,
            stride,
            "same",
            self.data_format,
            use_bias=False,
            kernel_initializer=tf.keras.initializers.VarianceScaling(
                2.0, "fan_out", "untruncated_normal"
            ),
        )(x)

    def normalise(self, x, initial="ones"):
        """Add a batch normalisation; a block's last starts at 0: a small batch learns steadily."""
        return tf.keras.layers.BatchNormalization(
            -1 if self.data_format == "channels_last" else 1,
            KEPT,
            EPSILON,
            gamma_initializer=initial,
        )(x)
