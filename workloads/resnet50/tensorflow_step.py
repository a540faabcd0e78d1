"""One training step in TensorFlow: forward, backward, exchange of gradients, update."""

from __future__ import annotations

import horovod.tensorflow as hvd
import tensorflow.compat.v2 as tf
from resnet50_layers import CLASSES
from training_rules import LABEL_SMOOTHING, MOMENTUM, WEIGHT_DECAY


class Step:
    """Train `model` by one batch at a time, with its gradients averaged over all ranks.

    Batch statistics stay local to a rank.
    """

    def __init__(self, model, place, settings, rate):
        self.model, self.settings, self.rate = model, settings, rate
        self._rate = tf.Variable(rate, dtype=tf.float32)
        self.world_size = place.world_size
        self.weights = model.trainable_variables
        self.speeds = [tf.Variable(tf.zeros_like(weight)) for weight in self.weights]
        # Horovod's exchange is none of the operations that XLA compiles on a CPU.
        compiled = {"jit_compile": True} if settings.xla else {}
        self._gradients = tf.function(self._compute, **compiled)
        self._train = tf.function(self._step)

    def __call__(self, images, labels):
        """Return cross entropy and the weights' share of the loss, averaged over the ranks."""
        return self._train(images, labels)

    def set_rate(self, rate):
        """Learn at another rate from now on."""
        self.rate = rate
        self._rate.assign(rate)

    def _step(self, images, labels):
        losses, gradients = self._gradients(images, labels)
        if self.world_size > 1:
            losses = hvd.allreduce(losses, op=hvd.Average)
            gradients = [hvd.allreduce(gradient, op=hvd.Average) for gradient in gradients]
        for weight, speed, gradient in zip(self.weights, self.speeds, gradients):
            tf.raw_ops.ResourceApplyMomentum(
                var=weight.handle,
                accum=speed.handle,
                lr=self._rate.read_value(),
                grad=gradient,
                momentum=MOMENTUM,
            )
        return losses

    def _compute(self, images, labels):
        scale = self.settings.loss_scale
        with tf.GradientTape() as tape:
            logits = tf.cast(self.model(images, training=True), tf.float32)
            cross_entropy = smoothed_cross_entropy(logits, labels)
            l2 = WEIGHT_DECAY * tf.add_n([tf.nn.l2_loss(weight) for weight in self.weights])
            scaled = (cross_entropy + l2) * scale
        gradients = tape.gradient(scaled, self.weights)
        if scale != 1.0:
            gradients = [gradient / scale for gradient in gradients]
        return tf.stack([cross_entropy, l2]), gradients


def smoothed_cross_entropy(logits, labels):
    """Return the mean over the batch, with smoothed labels (Szegedy et al., arXiv 1512.00567)."""
    wanted = tf.one_hot(labels, CLASSES, 1 - LABEL_SMOOTHING) + LABEL_SMOOTHING / CLASSES
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, logits))
