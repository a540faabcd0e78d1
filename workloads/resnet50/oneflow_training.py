"""Train ResNet-50 with OneFlow on this rank: data, model, step, and the whole run."""

from __future__ import annotations

import itertools

import numpy as np
import oneflow as flow
from oneflow import nn
from oneflow.nn import functional

from common.job import begin_job, checksum, end_job, run_iterations
from common.oneflow_ranks import all_devices, device_kind, end_with_launcher, find_place, gather
from common.ranks import peak_resident_mib, processor_name
from common.report_lines import oneflow_line
from resnet50.images import image_batches, normalised
from resnet50.layers import CLASSES, FEATURES, STEM_FILTERS, blocks
from resnet50.recipe import LABEL_SMOOTHING, MOMENTUM, WEIGHT_DECAY, header_facts, learning_rate


def make_feed(options, images, place, devices):
    """Yield the job's batches without end, to which this rank contributes its share.

    :raises BadDataError: naming the file that cannot be read.
    """

    def shared(array):
        return flow.tensor(array).to_global(devices, flow.sbp.split(0))

    size = options.image_size
    if options.data == "synthetic":
        chance = np.random.default_rng(options.seed + place.rank)
        pixels = chance.standard_normal((options.batch_size, 3, size, size), np.float32)
        labels = chance.integers(CLASSES, size=options.batch_size, dtype=np.int32)
        pair = shared(pixels), shared(labels)
        for batch in itertools.count():
            yield (0, batch, *pair)
    for epoch, batch, pixels, labels in image_batches(images, options, place):
        normal = normalised(pixels, size, "NCHW")
        yield epoch, batch, shared(normal), shared(np.array(labels, np.int32))


class Bottleneck(nn.Module):
    """1x1, 3x3 (strided) and 1x1 convolutions beside a shortcut."""

    def __init__(self, block):
        super().__init__()
        last = nn.BatchNorm2d(block.filters)
        nn.init.zeros_(last.weight)  # a block begins as its shortcut: a small batch learns steadily
        self.main = nn.Sequential(
            _convolution(block.channels, block.width, 1),
            nn.BatchNorm2d(block.width),
            nn.ReLU(),
            _convolution(block.width, block.width, 3, block.stride),
            nn.BatchNorm2d(block.width),
            nn.ReLU(),
            _convolution(block.width, block.filters, 1),
            last,
        )
        self.relu = nn.ReLU()
        self.shortcut = nn.Identity()
        if block.projects:
            self.shortcut = nn.Sequential(
                _convolution(block.channels, block.filters, 1, block.stride),
                nn.BatchNorm2d(block.filters),
            )

    def forward(self, x):
        return self.relu(self.main(x) + self.shortcut(x))


class ResNet50(nn.Module):
    """The whole network; `(N, 3, H, W)` in, `(N, 1000)` logits out."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            _convolution(3, STEM_FILTERS, 7, 2),
            nn.BatchNorm2d(STEM_FILTERS),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.blocks = nn.Sequential(*(Bottleneck(block) for block in blocks()))
        self.classifier = nn.Linear(FEATURES, CLASSES)
        nn.init.normal_(self.classifier.weight, std=0.01)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, x):
        return self.classifier(self.blocks(self.stem(x)).mean(dim=(2, 3)))


def _convolution(channels, filters, side, stride=1):
    """Return a convolution without bias, its weights scaled by its fan-out (He et al. 2015)."""
    layer = nn.Conv2d(channels, filters, side, stride=stride, padding=side // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer


class Step(nn.Graph):
    """One iteration of `model`, whose weights every rank holds, by one batch that all ranks share.

    OneFlow sees that the batch is split and the weights are not, and sums the gradients itself.
    """

    def __init__(self, model, rate, amp):
        super().__init__()
        self.model = model
        self.add_optimizer(
            flow.optim.SGD(model.parameters(), rate, MOMENTUM, weight_decay=WEIGHT_DECAY)
        )
        if amp:
            self.config.enable_amp(True)
            self.set_grad_scaler(flow.amp.GradScaler())

    def build(self, images, labels):
        """Return loss, top-1 and top-5 share of the global batch, whole on every rank."""
        scores = self.model(images)
        loss = smoothed_loss(scores, labels)
        loss.backward()
        hits = [flow.in_top_k(labels, scores, count).to(flow.float32).mean() for count in (1, 5)]
        return flow.stack([loss, *hits]).to_global(sbp=flow.sbp.broadcast)

    def values(self, means):
        """Wait for the forward pass and return the means by name."""
        return dict(zip(("loss", "top1", "top5"), means.to_local().numpy().tolist()))


def smoothed_loss(scores, labels):
    """Return the cross entropy with smoothed labels, which OneFlow 0.8 has no option for.

    Rethinking the Inception Architecture (Szegedy et al. 2015, arXiv 1512.00567), section 7.
    """
    hard = functional.cross_entropy(scores, labels)
    uniform = -functional.log_softmax(scores, dim=1).mean()
    return (1 - LABEL_SMOOTHING) * hard + LABEL_SMOOTHING * uniform


def train(options, images):
    """Do all iterations of this rank.

    :param images: `(path, label)` of real data.
    :raises StoppedError: on a loss that is not finite, or ranks whose weights differ.
    """
    end_with_launcher()
    place = find_place()
    kind, amp = device_kind(options, place), options.precision == "amp"
    devices = all_devices(kind)
    flow.manual_seed(options.seed)
    model = ResNet50().train().to_global(devices, flow.sbp.broadcast)
    header = {
        **header_facts(options, place),
        "framework": "oneflow",
        "framework_version": flow.__version__,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "backend": None if place.world_size == 1 else "nccl" if kind == "cuda" else "oneflow",
        "device": "gpu" if kind == "cuda" else "cpu",
        "device_name": processor_name() if kind == "cpu" else None,
        "autocast_dtype": "float16" if amp else None,
    }
    begin_job(place, header, gather(place.facts()))
    rate = learning_rate(options, place.world_size)
    feed = make_feed(options, images, place, devices)
    done, seconds = run_iterations(
        options, place, feed, Step(model, rate, amp), line=oneflow_line, rate=rate
    )
    weights = checksum(weight.to_local().numpy() for weight in model.parameters())
    # OneFlow does not tell what it has taken of a GPU's memory.
    memory = peak_resident_mib() if kind == "cpu" else None
    end_job(place, done, seconds, gather((weights, memory)))
