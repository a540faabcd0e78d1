"""Train ResNet-50 with Paddle 1.8, the published runs' version, as the only rank, on a CPU.

On CPUs it has parameter servers and no all-reduce, and PyPI has it for CPUs only. Paddle 2 renamed
everything, so this shares no code with ``paddle_training``.
"""

from __future__ import annotations

import itertools
import os

import numpy as np
import paddle
from paddle import fluid
from paddle.fluid import ParamAttr, dygraph, layers
from paddle.fluid.dygraph import BatchNorm, Linear, Pool2D, Sequential
from paddle.fluid.initializer import Constant, MSRAInitializer, Normal

from common.job import begin_job, checksum, end_job, run_iterations
from common.ranks import Place, end_with_parent, peak_resident_mib, processor_name
from common.report_lines import StoppedError, paddle_line
from resnet50.images import image_batches, normalised
from resnet50.layers import CLASSES, FEATURES, STEM_FILTERS, blocks
from resnet50.recipe import LABEL_SMOOTHING, MOMENTUM, WEIGHT_DECAY, header_facts, learning_rate


def make_feed(options, images, place):
    """Yield batches without end: one random batch over and over, or images of a folder.

    :raises BadDataError: naming the file that cannot be read.
    """
    size = options.image_size
    if options.data == "synthetic":
        chance = np.random.default_rng(options.seed)
        pixels = chance.standard_normal((options.batch_size, 3, size, size), np.float32)
        arrays = pixels, chance.integers(CLASSES, size=(options.batch_size, 1))
        for batch in itertools.count():
            yield (0, batch, *map(dygraph.to_variable, arrays))
    for epoch, batch, pixels, labels in image_batches(images, options, place):
        arrays = normalised(pixels, size, "NCHW"), np.array(labels, np.int64)[:, None]
        yield (epoch, batch, *map(dygraph.to_variable, arrays))


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
        return layers.elementwise_add(self.main(x), self.shortcut(x), act="relu")


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
        pooled = self.pool(self.blocks(self.stem(x)))
        return self.classifier(layers.reshape(pooled, (-1, FEATURES)))


def _convolution(channels, filters, side, stride=1):
    """Return a convolution without bias, its weights scaled by its fan-out (He et al. 2015)."""
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


class Step:
    """One iteration of `model`."""

    def __init__(self, model, rate):
        self.model = model
        self.optimizer = fluid.optimizer.MomentumOptimizer(
            rate,
            MOMENTUM,
            parameter_list=model.parameters(),
            regularization=fluid.regularizer.L2Decay(WEIGHT_DECAY),
        )

    def __call__(self, images, labels):
        """Return loss, top-1 and top-5 share."""
        scores = self.model(images)
        wanted = layers.label_smooth(layers.one_hot(labels, CLASSES), epsilon=LABEL_SMOOTHING)
        losses, shares = layers.softmax_with_cross_entropy(
            scores, wanted, soft_label=True, return_softmax=True
        )
        loss = layers.mean(losses)
        loss.backward()
        self.optimizer.minimize(loss)
        self.model.clear_gradients()
        # The loss of NaN scores may be finite; see paddle_training.measures.
        loss = loss + 0 * layers.mean(scores)
        return layers.concat([loss, *(layers.accuracy(shares, labels, k) for k in (1, 5))])

    def values(self, means):
        """Return the means by name."""
        return dict(zip(("loss", "top1", "top5"), means.numpy().tolist()))


def train(options, images):
    """Do all iterations.

    :param images: `(path, label)` of real data.
    :raises StoppedError: on a loss that is not finite, or if asked for more than one CPU rank.
    """
    ranks = int(os.environ.get("WORLD_SIZE", os.environ.get("PADDLE_TRAINERS_NUM", "1")))
    if ranks > 1 or options.device == "gpu" or options.precision == "amp":
        raise StoppedError("no_device", "Paddle 1.8 trains here in fp32, as one rank on a CPU")
    end_with_parent()
    place = Place()
    with dygraph.guard(fluid.CPUPlace()):
        fluid.default_startup_program().random_seed = options.seed
        fluid.default_main_program().random_seed = options.seed
        model = ResNet50()
        model.train()
        trained = [weight for weight in model.parameters() if weight.trainable]
        header = {
            **header_facts(options, place),
            "framework": "paddle",
            "framework_version": paddle.__version__,
            "parameters": sum(int(np.prod(weight.shape)) for weight in trained),
            "device": "cpu",
            "device_name": processor_name(),
            "layout": "NCHW",
        }
        begin_job(place, header, [place.facts()])
        rate = learning_rate(options, 1)
        step, feed = Step(model, rate), make_feed(options, images, place)
        done, seconds = run_iterations(
            options, place, feed, step, line=paddle_line, rate=rate, first=0
        )
        weights = checksum(weight.numpy() for weight in trained)
    end_job(place, done, seconds, [(weights, peak_resident_mib())])
