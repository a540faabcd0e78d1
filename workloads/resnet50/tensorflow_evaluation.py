"""Top-1 accuracy of the TensorFlow model over the validation images, shared among the ranks."""

from __future__ import annotations

import horovod.tensorflow as hvd
import numpy
import tensorflow.compat.v2 as tf
from image_folder import read_for_evaluation
from target_training import EpochEvaluation
from training_rules import CHANNEL_DEVIATION, CHANNEL_MEAN

NOBODY = -1  # the label of what fills the last batch up


class Evaluation(EpochEvaluation):
    """Evaluates `model` after each epoch."""

    def __init__(self, training, images, model, options, place, layout):
        super().__init__(training, len(images), options, place)
        self.images = images[place.rank :: place.world_size]
        self.model, self.options, self.layout = model, options, layout
        trained = {weight.ref() for weight in model.trainable_variables}
        self.statistics = [one for one in model.variables if one.ref() not in trained]
        self._answers = tf.function(lambda images: tf.argmax(model(images, training=False), 1))

    def count_correct(self):
        """Return how many images of all ranks the model names rightly."""
        several = self.place.world_size > 1
        for number, statistic in enumerate(self.statistics if several else ()):
            # Training keeps the batch statistics of the ranks apart.
            statistic.assign(hvd.allreduce(statistic, op=hvd.Average, name=f"statistic_{number}"))
        correct = 0
        for at in range(0, len(self.images), self.options.batch_size):
            pixels, labels = self._batch(self.images[at : at + self.options.batch_size])
            correct += int((self._answers(pixels).numpy() == labels).sum())
        if several:
            correct = int(hvd.allreduce(tf.constant(correct), op=hvd.Sum, name="correct"))
        return correct

    def _batch(self, files):
        size, count = self.options.image_size, self.options.batch_size
        pixels = numpy.zeros((count, size, size, 3), numpy.float32)
        labels = numpy.full(count, NOBODY)
        for place, (path, label) in enumerate(files):
            raw = numpy.frombuffer(read_for_evaluation(path, size), numpy.uint8)
            pixels[place], labels[place] = raw.reshape(size, size, 3), label
        normal = (pixels - numpy.float32(CHANNEL_MEAN)) / numpy.float32(CHANNEL_DEVIATION)
        if self.layout == "NCHW":
            normal = normal.transpose(0, 3, 1, 2)
        return tf.constant(normal), labels
