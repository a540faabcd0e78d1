"""Train ResNet-50 with Paddle 1.8, the published runs' version, as the only rank, on a CPU.

On CPUs it has parameter servers and no all-reduce, and PyPI has it for CPUs only.
"""

from __future__ import annotations

import os

import host_facts
import numpy as np
import paddle
from image_batches import image_batches
from paddle import fluid
from paddle.fluid import layers
from paddle_fluid_resnet50 import ResNet50
from paddle_loop import run
from rank_place import Place, end_with_parent
from report_lines import StoppedError
from resnet50_layers import CLASSES
from training_rules import (
    CHANNEL_DEVIATION,
    CHANNEL_MEAN,
    LABEL_SMOOTHING,
    MOMENTUM,
    WEIGHT_DECAY,
    header_facts,
    learning_rate,
)
from whole_job import begin_job, checksum, end_job


def train(options, images):
    """Do all iterations.

    :param images: `(path, label)` of real data.
    :raises StoppedError: on a loss that is no number, or where more is asked for than one CPU rank.
    """
    ranks = int(os.environ.get("WORLD_SIZE", os.environ.get("PADDLE_TRAINERS_NUM", "1")))
    if ranks > 1 or options.device == "gpu" or options.precision == "amp":
        raise StoppedError("no_device", "Paddle 1.8 trains here in fp32, as one rank on a CPU")
    end_with_parent()
    place = Place(0, 1, 0, 1)
    with fluid.dygraph.guard(fluid.CPUPlace()):
        fluid.default_startup_program().random_seed = options.seed
        fluid.default_main_program().random_seed = options.seed
        model = ResNet50()
        model.train()
        trained = [weight for weight in model.parameters() if weight.trainable]
        announce(options, place, sum(int(np.prod(weight.shape)) for weight in trained))
        rate = learning_rate(options, 1)
        step = Step(model, rate)
        feed = make_feed(options, images, place)
        seconds = run(options, place, step, feed, rate, lambda: None)
        weights = checksum(weight.numpy() for weight in trained)
    memory = host_facts.peak_resident_mib()
    end_job(place, options.warmup + options.iterations, seconds, [(weights, memory)])


def announce(options, place, parameters):
    """Print the header and the rank's line."""
    header = {
        **header_facts(options, place),
        "framework": "paddle",
        "framework_version": paddle.__version__,
        "parameters": parameters,
        "device": "cpu",
        "device_name": host_facts.processor_name(),
        "layout": "NCHW",
        "zero_init_residual": True,
    }
    begin_job(place, header, [place.facts()])


def make_feed(options, images, place):
    """Give batches for ever: one random batch again and again, or images of a folder.

    :raises BadDataError: naming the file that cannot be read.
    """
    size = options.image_size
    if options.data == "synthetic":
        chance = np.random.default_rng(options.seed)
        pixels = chance.standard_normal((options.batch_size, 3, size, size), np.float32)
        arrays = pixels, chance.integers(CLASSES, size=(options.batch_size, 1))
        while True:
            yield (0, *map(fluid.dygraph.to_variable, arrays))
    mean, deviation = np.float32(CHANNEL_MEAN), np.float32(CHANNEL_DEVIATION)
    for epoch, _, pixels, labels in image_batches(images, options, place):
        whole = np.frombuffer(pixels, np.uint8).reshape(-1, size, size, 3)
        normal = np.ascontiguousarray(((whole - mean) / deviation).transpose(0, 3, 1, 2))
        column = np.array(labels, np.int64)[:, None]
        yield (epoch, *map(fluid.dygraph.to_variable, (normal, column)))


class Step:
    """Train `model` by one batch at a time."""

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
        # The loss of scores that are no numbers may be one; see paddle_step.measures.
        told = loss + 0 * layers.mean(scores)
        return layers.concat([told, *(layers.accuracy(shares, labels, k) for k in (1, 5))])
