"""One training step in MXNet: forward, backward, exchange of gradients, update."""

from __future__ import annotations

import contextlib

import mxnet as mx
from mxnet import autograd, gluon
from resnet50_layers import CLASSES
from training_rules import LABEL_SMOOTHING, MOMENTUM, WEIGHT_DECAY


class Step:
    """Train `model` by one batch at a time, with its gradients averaged over all ranks."""

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

    def _scaled(self, losses):
        if self.settings.autocast:
            return _amp().scale_loss(losses, self.trainer)
        return contextlib.nullcontext(losses)


def smooth(labels):
    """Return the wanted probabilities of all classes: a share goes to each of them alike."""
    share = LABEL_SMOOTHING / CLASSES
    return mx.nd.one_hot(labels, CLASSES, on_value=1 - LABEL_SMOOTHING + share, off_value=share)


def compute_in(autocast):
    """Have the operators that can do it compute in `autocast`; before any model is made."""
    if autocast:
        _amp().init(target_dtype=autocast)


def _amp():
    """Return the module of mixed precision, which came with MXNet 1.5."""
    from mxnet.contrib import amp  # noqa: PLC0415 (it patches operators when it is used)

    return amp
