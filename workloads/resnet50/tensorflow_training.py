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
from tensorflow_evaluation import Evaluation
from tensorflow_lines import step_line
from tensorflow_ranks import backend, gather, join, meet
from tensorflow_records import records
from tensorflow_resnet50 import resnet50
from tensorflow_step import Step
from training_rules import header_facts, learning_rate
from whole_job import begin_job, checksum, end_job


def train(options, images, target=None, evaluated=None):
    """Do all steps of this rank.

    :param images: `(path, label)` of real data in folders.
    :param target: a ``TargetTraining``, None for one without evaluations of `evaluated` images.
    :raises StoppedError: on a loss that is no number, or ranks whose weights differ.
    """
    tf.enable_v2_behavior()
    place = join()
    settings = tensorflow_settings.choose(options, place)
    tensorflow_settings.apply(settings, options)
    model = resnet50(options.image_size, settings.layout)
    header = {**header_of(options, place, settings, model), **(target.facts if target else {})}
    begin_job(place, header, gather(place, place.facts()))
    if place.world_size > 1:
        hvd.broadcast_variables(model.variables, root_rank=0)
    rate = learning_rate(options, place.world_size)
    step = Step(model, place, settings, rate)
    evaluation = None
    if target is not None:
        evaluation = Evaluation(target, evaluated, model, options, place, settings.layout)
    feed = make_feed(options, images, place, settings.layout)
    done, seconds = run(options, place, step, feed, evaluation)
    if evaluation is not None:
        evaluation.close()
    weights = checksum(weight.numpy() for weight in model.trainable_variables)
    memory = tensorflow_settings.peak_memory_mib(settings) or peak_resident_mib()
    end_job(place, done, seconds, gather(place, [weights, memory]))


def make_feed(options, images, place, layout):
    """Return this rank's batches."""
    if options.data == "synthetic":
        return tensorflow_feed.synthetic(options, place, layout)
    if options.data_backend == "tfrecord":
        return records(options, place, layout)
    return tensorflow_feed.folder(images, options, place, layout)


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
        "data_backend": options.data_backend,
        "layout": settings.layout,
        "zero_init_residual": True,
        "parameters": sum(weight.shape.num_elements() for weight in model.trainable_variables),
    }


def run(options, place, step, feed, evaluation=None):
    """Do warm-up and measured steps, print each, and evaluate after each epoch.

    :returns: how many steps were done, and the wall time of all this in seconds.
    :raises StoppedError: on a loss that is no number; all ranks see the same mean.
    """
    samples = options.batch_size * place.world_size
    total = options.warmup + options.iterations
    batch = next(feed)
    meet(place)
    begin = before = time.perf_counter()
    for number in range(total):
        epoch, images, labels = batch
        if evaluation is not None:
            step.set_rate(evaluation.rate(number + 1))
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
        if evaluation is not None and evaluation.is_due(number + 1):
            if evaluation():
                break
            before = time.perf_counter()
    return number + 1, time.perf_counter() - begin
