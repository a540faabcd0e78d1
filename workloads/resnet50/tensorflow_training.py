"""Train ResNet-50 with TensorFlow and Horovod on this rank and print what each step took."""

from __future__ import annotations

import math
import time

import horovod
import horovod.tensorflow as hvd
import tensorflow.compat.v2 as tf
import tensorflow_feed
import tensorflow_settings
from host_facts import peak_resident_mib
from report_lines import StoppedError
from tensorflow_lines import step_line
from tensorflow_ranks import backend, gather, join, meet
from tensorflow_resnet50 import resnet50
from tensorflow_step import Step
from training_rules import header_facts, learning_rate
from whole_job import begin_job, checksum, end_job


def train(options, images):
    """Do all steps of this rank.

    :param images: `(path, label)` of real data.
    :raises StoppedError: on a loss that is no number, or ranks whose weights differ.
    """
    tf.enable_v2_behavior()
    place = join()
    settings = tensorflow_settings.choose(options, place)
    tensorflow_settings.apply(settings, options)
    model = resnet50(options.image_size, settings.layout)
    begin_job(place, header_of(options, place, settings, model), gather(place, place.facts()))
    if place.world_size > 1:
        hvd.broadcast_variables(model.variables, root_rank=0)
    rate = learning_rate(options, place.world_size)
    step = Step(model, place, settings, rate)
    if options.data == "synthetic":
        feed = tensorflow_feed.synthetic(options, place, settings.layout)
    else:
        feed = tensorflow_feed.folder(images, options, place, settings.layout)
    seconds = run(options, place, step, feed)
    weights = checksum(weight.numpy() for weight in model.trainable_variables)
    memory = tensorflow_settings.peak_memory_mib(settings) or peak_resident_mib()
    end_job(place, options.warmup + options.iterations, seconds, gather(place, [weights, memory]))


def header_of(options, place, settings, model):
    """Return what the header line says."""
    return {
        **header_facts(options, place),
        "framework": "tensorflow",
        "framework_version": tf.__version__,
        "horovod_version": horovod.__version__,
        "backend": backend() if place.world_size > 1 else None,
        "device": "gpu" if settings.on_gpu else "cpu",
        "device_name": settings.device_name,
        "autocast_dtype": settings.autocast,
        "loss_scale": settings.loss_scale,
        "xla": settings.xla,
        "layout": settings.layout,
        "zero_init_residual": True,
        "parameters": sum(weight.shape.num_elements() for weight in model.trainable_variables),
    }


def run(options, place, step, feed):
    """Do warm-up and measured steps, print each; return their wall time in seconds.

    :raises StoppedError: on a loss that is no number; all ranks see the same mean.
    """
    samples = options.batch_size * place.world_size
    total = options.warmup + options.iterations
    batch = next(feed)
    meet(place)
    begin = before = time.perf_counter()
    for number in range(total):
        epoch, images, labels = batch
        losses_on_device = step(images, labels)
        if number + 1 < total:
            batch = next(feed)  # while a GPU still computes
        losses = losses_on_device.numpy().tolist()
        now = time.perf_counter()
        if place.rank == 0:
            print(
                step_line(
                    number,
                    epoch=epoch,
                    losses=losses,
                    rate=step.rate,
                    samples=samples,
                    seconds=now - before,
                    now=time.time(),
                )
            )
        if not math.isfinite(sum(losses)):
            raise StoppedError("nan_loss", f"the loss of step {number} is {sum(losses)}")
        before = now
    return before - begin
