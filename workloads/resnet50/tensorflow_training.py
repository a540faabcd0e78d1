"""Train ResNet-50 with TensorFlow on this rank: settings, model, step, evaluation, whole run."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from functools import partial

import horovod
import horovod.tensorflow as hvd
import tensorflow.compat.v2 as tf

from common import tensorflow_ranks as ranks
from common.job import begin_job, checksum, end_job, run_iterations
from common.ranks import keep_freed_memory
from common.report_lines import dllogger_line
from common.target_training import EpochEvaluation
from common.waits import Waits
from resnet50.layers import CLASSES, STEM_FILTERS, blocks
from resnet50.recipe import LABEL_SMOOTHING, MOMENTUM, WEIGHT_DECAY, header_facts, learning_rate
from resnet50.tensorflow_data import evaluation_batches, make_feed

LOSS_SCALE = 128.0  # constant, as in NVIDIA's recipe
EPSILON = 1e-5
KEPT = 0.9  # of the running means and variances at each step


@dataclass(frozen=True)
class Settings:
    """The choices for one rank; `autocast` is None for fp32."""

    on_gpu: bool
    device_name: str
    autocast: str
    layout: str
    xla: bool

    @property
    def loss_scale(self):
        """Return the factor that keeps small gradients of float16 above zero; else 1."""
        return LOSS_SCALE if self.autocast == "float16" else 1.0


def choose_settings(options, place):
    """Take this rank's device and return the settings, with defaults for what is left open.

    :raises StoppedError: if there is no such device, or this TensorFlow cannot do it.
    """
    name, on_gpu = ranks.take_device(options.device, place)
    autocast = ranks.autocast_type(options.precision, on_gpu)
    # A CPU convolves channels-last only; tensor cores want it as well, a GPU in fp32 the other.
    layout = "NCHW" if on_gpu and autocast is None else "NHWC"
    return Settings(on_gpu, name, autocast, layout, options.xla)


def apply_settings(settings, options):
    """Set what is global to the process, before anything is computed."""
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(2 if settings.on_gpu else 1)
    ranks.set_seed(options.seed)
    if settings.autocast:
        ranks.autocast_to(settings.autocast)
    if not settings.on_gpu:
        keep_freed_memory()


def resnet50(size, layout):
    """Return the model: images to `(N, classes)` logits in the policy's number format.

    Where a stride meets an even size, TensorFlow's own padding (`same`) adds its one row and column
    behind the image, as in NVIDIA's TensorFlow model; PyTorch's adds them in front.

    :param size: height and width of the images.
    :param layout: `NHWC` or `NCHW`, of the images and inside.
    """
    channels_last = layout == "NHWC"
    images = tf.keras.Input((size, size, 3) if channels_last else (3, size, size))
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
        """Add a convolution, its weights drawn as in He et al., 2015 (arXiv 1502.01852)."""
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


class Step:
    """One iteration of `model`, with its gradients averaged over all ranks.

    Batch statistics stay local to a rank.
    """

    def __init__(self, model, place, settings, rate, waits):
        self.model, self.settings, self.waits = model, settings, waits
        self._rate = tf.Variable(rate, dtype=tf.float32)
        self.world_size = place.world_size
        self.weights = model.trainable_variables
        self.speeds = [tf.Variable(tf.zeros_like(weight)) for weight in self.weights]
        # Horovod's exchange is none of the operations that XLA compiles on a CPU.
        compiled = {"jit_compile": True} if settings.xla else {}
        self._gradients = tf.function(self._compute, **compiled)
        self._train = tf.function(self._step)

    def __call__(self, images, labels):
        """Return cross entropy and the weights' share of the loss, averaged over the ranks.

        And when the gradients were computed and exchanged, in s.
        """
        return self._train(images, labels)

    def values(self, result):
        """Wait for the device and return the parts of the loss."""
        losses, *moments = result
        cross_entropy, l2 = losses.numpy().tolist()
        self.waits.exchanged(*(moment.numpy() for moment in moments))
        self.waits.end_step()
        return {"loss": cross_entropy + l2, "cross_entropy": cross_entropy, "l2": l2}

    def set_rate(self, rate):
        """Set the learning rate of the following iterations."""
        self._rate.assign(rate)

    def _step(self, images, labels):
        losses, gradients = self._gradients(images, labels)
        reached = left = moment_after(gradients)
        if self.world_size > 1:
            losses = hvd.allreduce(losses, op=hvd.Average)
            gradients = [hvd.allreduce(gradient, op=hvd.Average) for gradient in gradients]
            left = moment_after(gradients)
        for weight, speed, gradient in zip(self.weights, self.speeds, gradients):
            tf.raw_ops.ResourceApplyMomentum(
                var=weight.handle,
                accum=speed.handle,
                lr=self._rate.read_value(),
                grad=gradient,
                momentum=MOMENTUM,
            )
        return losses, reached, left

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


def moment_after(tensors):
    """Return the time at which all these are computed, in s; on a CPU alone."""
    with tf.control_dependencies(tensors):
        return tf.timestamp()


def smoothed_cross_entropy(logits, labels):
    """Return the mean over the batch, with smoothed labels (Szegedy et al., arXiv 1512.00567)."""
    wanted = tf.one_hot(labels, CLASSES, 1 - LABEL_SMOOTHING) + LABEL_SMOOTHING / CLASSES
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, logits))


class Evaluation(EpochEvaluation):
    """Top-1 accuracy over the validation images, which the ranks share out."""

    def __init__(self, training, images, model, options, place, layout):
        super().__init__(training, len(images), learning_rate(options, place.world_size), place)
        self.images = images[place.rank :: place.world_size]
        self.options, self.layout = options, layout
        trained = {weight.ref() for weight in model.trainable_variables}
        self.statistics = [each for each in model.variables if each.ref() not in trained]
        self._answers = tf.function(lambda images: tf.argmax(model(images, training=False), 1))

    def count_correct(self):
        """Return how many images of all ranks the model labels correctly."""
        several = self.place.world_size > 1
        for number, statistic in enumerate(self.statistics if several else ()):
            # Training keeps the batch statistics of the ranks apart.
            statistic.assign(hvd.allreduce(statistic, op=hvd.Average, name=f"statistic_{number}"))
        correct = 0
        for pixels, labels in evaluation_batches(self.images, self.options, self.layout):
            correct += int((self._answers(pixels).numpy() == labels).sum())
        if several:
            correct = int(hvd.allreduce(tf.constant(correct), op=hvd.Sum, name="correct"))
        return correct


def train(options, images, target=None, evaluated=None):
    """Do all steps of this rank.

    :param images: `(path, label)` of real data in folders.
    :param target: a ``TargetTraining`` with evaluations of the images `evaluated`; None without.
    :raises StoppedError: on a loss that is not finite, or ranks whose weights differ.
    """
    tf.enable_v2_behavior()
    place = ranks.join()
    settings = choose_settings(options, place)
    apply_settings(settings, options)
    model = resnet50(options.image_size, settings.layout)
    weights = model.trainable_variables
    header = {
        **header_facts(options, place),
        "framework": "tensorflow",
        "framework_version": tf.__version__,
        "horovod_version": horovod.__version__,
        "backend": ranks.backend(place),
        "device": "gpu" if settings.on_gpu else "cpu",
        "device_name": settings.device_name,
        "autocast_dtype": settings.autocast,
        "loss_scale": settings.loss_scale,
        "xla": settings.xla,
        "data_backend": options.data_backend,
        "layout": settings.layout,
        "parameters": sum(weight.shape.num_elements() for weight in weights),
        **(target.facts if target else {}),
    }
    begin_job(place, header, ranks.gather(place, place.facts()))
    if place.world_size > 1:
        hvd.broadcast_variables(model.variables, root_rank=0)
    rate = learning_rate(options, place.world_size)
    # On a GPU calls return before it has computed; on a CPU a pool's threads compute, not this one.
    measured = not settings.on_gpu
    waits = Waits(place, options.warmup + options.iterations, measured, computes=False)
    step = Step(model, place, settings, rate, waits)
    evaluation = None
    if target is not None:
        evaluation = Evaluation(target, evaluated, model, options, place, settings.layout)
    gc.freeze()
    gc.enable()
    done, seconds = run_iterations(
        options,
        place,
        make_feed(images, options, place, settings.layout),
        step,
        line=dllogger_line,
        rate=rate,
        first=0,
        wait_for_ranks=partial(ranks.gather, place, place.rank),
        evaluation=evaluation,
        waits=waits,
    )
    if evaluation is not None:
        evaluation.close()
    end = checksum(weight.numpy() for weight in weights), ranks.peak_memory(settings.on_gpu)
    end_job(
        *(place, done, seconds, ranks.gather(place, end)),
        waits=ranks.gather(place, waits.facts()),
    )
