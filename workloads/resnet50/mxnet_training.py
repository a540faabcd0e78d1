"""Train ResNet-50 with MXNet on this rank: settings, model, step, and the whole run."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import Any

import mxnet as mx
from mxnet import autograd, gluon
from mxnet.gluon import nn

from common.job import begin_job, checksum, end_job, run_iterations
from common.mxnet_ranks import choose_device, join, peak_memory
from common.ranks import keep_freed_memory, processor_name
from common.report_lines import StoppedError, speedometer_line
from resnet50.layers import CLASSES, FEATURES, STEM_FILTERS, blocks
from resnet50.mxnet_data import make_feed
from resnet50.recipe import LABEL_SMOOTHING, MOMENTUM, WEIGHT_DECAY, header_facts, learning_rate

BEFORE_BFLOAT16 = ("1.5.", "1.6.")


@dataclass(frozen=True)
class Settings:
    """The choices for one rank; `autocast` is None unless some operators compute in less."""

    device: Any
    dtype: str
    autocast: Any
    layout: str

    @property
    def on_gpu(self):
        """Return whether the device is a GPU."""
        return self.device.device_type == "gpu"


def choose_settings(options, place):
    """Return the settings, with defaults for what the command line leaves open.

    amp is float16 with loss scaling on a GPU and bfloat16 on a CPU. fp16 keeps the weights in
    float16 as well, as the published runs that are called AMP did. cuDNN's float16 kernels want
    NHWC; oneDNN has none for it.

    :raises StoppedError: if there is no such device, or it cannot compute in that precision.
    """
    device = choose_device(options.device, place)
    on_gpu = device.device_type == "gpu"
    if options.precision == "fp16" and not on_gpu:
        raise StoppedError("no_device", "fp16 needs a GPU; a CPU has --precision amp, in bfloat16")
    autocast = ("float16" if on_gpu else "bfloat16") if options.precision == "amp" else None
    if autocast == "bfloat16" and mx.__version__.startswith(BEFORE_BFLOAT16):
        raise StoppedError("no_device", f"MXNet {mx.__version__} has amp on a GPU alone")
    layout = "NHWC" if on_gpu and options.precision != "fp32" else "NCHW"
    dtype = "float16" if options.precision == "fp16" else "float32"
    return Settings(device, dtype, autocast, options.layout or layout)


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
    """Return the number of trained parameters; statistics of normalisation are not trained."""
    return sum(parameter.data().size for parameter in trained(model))


def trained(model):
    """Return the parameters that have gradients, in the order of their layers."""
    return [each for each in model.collect_params().values() if each.grad_req != "null"]


def _convolution(channels, filters, side, layout, stride=1):
    """Return a convolution, its weights scaled by its fan-out (He et al. 2015, arXiv 1502.01852).

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


class Step:
    """One iteration of `model`, with its gradients averaged over all ranks."""

    def __init__(self, model, ranks, settings, rate, batch_size):
        self.model, self.ranks, self.settings = model, ranks, settings
        self.criterion = gluon.loss.SoftmaxCrossEntropyLoss(sparse_label=False)
        self.criterion.hybridize(static_alloc=True, static_shape=True)
        choices = {
            "learning_rate": rate,
            "momentum": MOMENTUM,
            "wd": WEIGHT_DECAY,
            "multi_precision": settings.dtype == "float16",
        }
        self.trainer, self.images = ranks.trainer(model.collect_params(), choices, batch_size)
        if settings.autocast:
            _amp().init_trainer(self.trainer)

    def __call__(self, images, labels):
        """Return the loss, averaged over the ranks, still on the device."""
        with autograd.record():
            losses = self.criterion(self.model(images).astype("float32"), smooth(labels))
            with self._scaled(losses) as scaled:
                autograd.backward(scaled)
        mean = self.ranks.sum(losses.mean().detach()) / self.ranks.place.world_size
        self.trainer.step(self.images)
        return mean

    def values(self, loss):
        """Wait for the device and return the loss."""
        values = {"loss": loss.asscalar()}
        mx.nd.waitall()
        return values

    def _scaled(self, losses):
        if self.settings.autocast:
            return _amp().scale_loss(losses, self.trainer)
        return contextlib.nullcontext(losses)


def smooth(labels):
    """Return the target probabilities of all classes: each gets an equal share of the smoothing."""
    share = LABEL_SMOOTHING / CLASSES
    return mx.nd.one_hot(labels, CLASSES, on_value=1 - LABEL_SMOOTHING + share, off_value=share)


def _amp():
    """Return the module of mixed precision, which came with MXNet 1.5."""
    from mxnet.contrib import amp  # noqa: PLC0415 (it patches operators when it is used)

    return amp


def _check_bfloat16():
    """End the run where oneDNN, whose bfloat16 needs AVX-512, cannot compute in it.

    MXNet itself would say "could not create a primitive descriptor iterator".

    :raises StoppedError: it cannot.
    """
    image, kernel = mx.nd.ones((1, 1, 1, 1)), mx.nd.ones((1, 1, 1, 1))
    try:
        # amp, which is in force, casts what a convolution gets.
        mx.nd.Convolution(image, kernel, kernel=(1, 1), num_filter=1, no_bias=True).wait_to_read()
    except mx.MXNetError as error:
        (said, *_) = str(error).strip().splitlines()[-1:] or ("",)
        raise StoppedError(
            "no_device",
            "amp on a CPU is bfloat16, for which MXNet needs a processor with AVX-512: ask for"
            f" precision=fp32 ({said.strip()})",
        ) from None


def train(options, images):
    """Do all iterations of this rank.

    :param images: `(path, label)` of real data in folders.
    :raises StoppedError: on a loss that is not finite, ranks whose weights differ, or a precision
        that the device has not.
    """
    ranks = join()
    place = ranks.place
    settings = choose_settings(options, place)
    if not settings.on_gpu:
        keep_freed_memory()
    if settings.autocast:
        _amp().init(target_dtype=settings.autocast)  # before any model is made
    if settings.autocast == "bfloat16":
        _check_bfloat16()
    mx.random.seed(options.seed)
    model = resnet50(settings.layout)
    model.cast(settings.dtype)
    model.initialize(ctx=settings.device)
    model.hybridize(static_alloc=True, static_shape=True)
    header = {
        **header_facts(options, place),
        "framework": "mxnet",
        "framework_version": mx.__version__,
        "parameters": parameter_count(model),
        "backend": ranks.backend,
        "device": "gpu" if settings.on_gpu else "cpu",
        "device_name": processor_name() if not settings.on_gpu else None,
        "autocast_dtype": settings.autocast,
        "layout": settings.layout,
        "data_backend": options.data_backend,
    }
    begin_job(place, header, ranks.gather(place.facts()))
    rate = learning_rate(options, place.world_size)
    # Published runs print the speed of the whole job on every rank; ours on the first.
    done, seconds = run_iterations(
        options,
        place,
        make_feed(images, options, settings, place),
        Step(model, ranks, settings, rate, options.batch_size),
        line=speedometer_line,
        rate=rate,
        wait_for_ranks=partial(ranks.gather, "ready"),
    )
    weights = checksum(weight.data().asnumpy() for weight in trained(model))
    end_job(place, done, seconds, ranks.gather((weights, peak_memory(settings.device))))
