"""Train ResNet-50 with Paddle on this rank: data, model, step, and the whole run."""

from __future__ import annotations

import itertools
from argparse import Namespace
from collections.abc import Iterator
from functools import partial

import numpy
import paddle
import paddle.distributed as dist
from paddle import Tensor, nn
from paddle.nn import functional
from paddle.nn.initializer import Constant, KaimingNormal, Normal

from common import paddle_ranks as ranks
from common.job import begin_job, checksum, end_job, run_iterations
from common.options import CPU_BUCKET
from common.ranks import Place, processor_name
from common.report_lines import paddle_line
from common.waits import Waits
from resnet50.images import CHANNEL_DEVIATION, CHANNEL_MEAN, image_batches
from resnet50.layers import CLASSES, FEATURES, STEM_FILTERS, Block, blocks
from resnet50.recipe import LABEL_SMOOTHING, MOMENTUM, WEIGHT_DECAY, header_facts, learning_rate

Images = list[tuple[str, int]]  # path, label
Batch = tuple[int, int, Tensor, Tensor]  # epoch, number in it, images, labels (N)


def make_feed(options: Namespace, images: Images, place: Place, layout: str) -> Iterator[Batch]:
    """Yield this rank's batches without end: one random batch over and over, or images of a folder.

    :raises BadDataError: naming the file that cannot be read.
    """
    size = options.image_size
    if options.data == "synthetic":
        chance = numpy.random.default_rng(options.seed + place.rank)
        shape = (3, size, size) if layout == "NCHW" else (size, size, 3)
        pixels = chance.standard_normal((options.batch_size, *shape), numpy.float32)
        labels = chance.integers(CLASSES, size=options.batch_size)
        pair = paddle.to_tensor(pixels), paddle.to_tensor(labels)
        for batch in itertools.count():
            yield 0, batch, *pair
    mean, deviation = paddle.to_tensor(CHANNEL_MEAN), paddle.to_tensor(CHANNEL_DEVIATION)
    for epoch, batch, pixels, labels in image_batches(images, options, place):
        whole = numpy.frombuffer(pixels, numpy.uint8).reshape(-1, size, size, 3)
        normal = (paddle.to_tensor(whole).astype("float32") - mean) / deviation
        if layout == "NCHW":
            normal = normal.transpose((0, 3, 1, 2))
        yield epoch, batch, normal, paddle.to_tensor(labels)


class Bottleneck(nn.Layer):
    """1x1, 3x3 (strided) and 1x1 convolutions beside a shortcut."""

    def __init__(self, block: Block, layout: str) -> None:
        super().__init__()
        self.main = nn.Sequential(
            _convolution(block.channels, block.width, 1, layout=layout),
            nn.BatchNorm2D(block.width, data_format=layout),
            nn.ReLU(),
            _convolution(block.width, block.width, 3, block.stride, layout),
            nn.BatchNorm2D(block.width, data_format=layout),
            nn.ReLU(),
            _convolution(block.width, block.filters, 1, layout=layout),
            # At 0 a block begins as its shortcut: a small batch learns steadily.
            nn.BatchNorm2D(block.filters, weight_attr=Constant(0.0), data_format=layout),
        )
        self.relu = nn.ReLU()
        self.shortcut = nn.Identity()
        if block.projects:
            self.shortcut = nn.Sequential(
                _convolution(block.channels, block.filters, 1, block.stride, layout),
                nn.BatchNorm2D(block.filters, data_format=layout),
            )

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.main(x) + self.shortcut(x))


class ResNet50(nn.Layer):
    """The whole network; images in, laid out as `layout` (NCHW or NHWC), `(N, 1000)` logits out."""

    def __init__(self, layout: str = "NCHW") -> None:
        super().__init__()
        self.stem = nn.Sequential(
            _convolution(3, STEM_FILTERS, 7, 2, layout),
            nn.BatchNorm2D(STEM_FILTERS, data_format=layout),
            nn.ReLU(),
            nn.MaxPool2D(3, stride=2, padding=1, data_format=layout),
        )
        self.blocks = nn.Sequential(*(Bottleneck(block, layout) for block in blocks()))
        self.pool = nn.AdaptiveAvgPool2D(1, data_format=layout)
        self.classifier = nn.Linear(FEATURES, CLASSES, weight_attr=Normal(0.0, 0.01))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.pool(self.blocks(self.stem(x))).flatten(1))


def _convolution(
    channels: int, filters: int, side: int, stride: int = 1, layout: str = "NCHW"
) -> nn.Layer:
    """Return a convolution without bias, its weights scaled by its fan-out (He et al. 2015)."""
    fan_out = filters * side * side
    return nn.Conv2D(
        channels,
        filters,
        side,
        stride=stride,
        padding=side // 2,
        weight_attr=KaimingNormal(fan_in=fan_out),
        bias_attr=False,
        data_format=layout,
    )


class Step:
    """One iteration of `model`, with its gradients averaged over all ranks."""

    def __init__(
        self, model: nn.Layer, place: Place, rate: float, amp: bool, on_gpu: bool, waits: Waits
    ) -> None:
        self.world_size, self.amp, self.on_gpu = place.world_size, amp, on_gpu
        self.waits = waits
        if waits.several:
            # The first layer's gradient is a rank's last, and Paddle exchanges it after this hook.
            model.stem[0].weight.register_hook(waits.reach)
        self.model = distribute(model, place, on_gpu)
        self.optimizer = paddle.optimizer.Momentum(
            rate, MOMENTUM, parameters=model.parameters(), weight_decay=WEIGHT_DECAY
        )
        self.scaler = paddle.amp.GradScaler(enable=amp)

    def __call__(self, images: Tensor, labels: Tensor) -> Tensor:
        """Return loss, top-1 and top-5 share, averaged over the ranks, still on the device."""
        with paddle.amp.auto_cast(enable=self.amp, dtype="float16"):
            scores = self.model(images)
        scores = scores.astype("float32")
        loss = functional.cross_entropy(scores, labels, label_smoothing=LABEL_SMOOTHING)
        means, exchange = measures(loss, scores, labels) / self.world_size, None
        self.scaler.scale(loss).backward()
        self.waits.leave()
        if self.world_size > 1:
            # On a CPU it waits for all ranks: before the backward pass they would wait twice.
            exchange = dist.all_reduce(means, sync_op=False)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.clear_grad()
        if exchange is not None:
            exchange.wait()
        return means

    def values(self, means: Tensor) -> dict[str, float]:
        """Wait for the device and return the means."""
        values = dict(zip(("loss", "top1", "top5"), means.numpy().tolist(), strict=True))
        if self.on_gpu:
            paddle.device.synchronize()
        self.waits.end_step()
        return values


def distribute(model: nn.Layer, place: Place, on_gpu: bool) -> nn.Layer:
    """Wrap the model so that gradients are averaged over the ranks.

    A single rank has nothing to exchange and stays unwrapped: a slower 1n1g would flatter every
    speed-up. On a CPU all gradients travel at once: no core is idle that could overlap them.
    """
    if place.world_size == 1:
        return model
    mib = 25 if on_gpu else CPU_BUCKET
    return paddle.DataParallel(
        model, comm_buffer_size=mib, last_comm_buffer_size=1 if on_gpu else mib
    )


def measures(loss: Tensor, scores: Tensor, labels: Tensor) -> Tensor:
    """Return the loss and the shares of images whose label came first and among the first five.

    The loss is NaN where a score is: Paddle's cross entropy on a CPU returns ln(1000) for NaN
    scores, and a run that diverged would go on as if it trained.
    """
    with paddle.no_grad():
        loss = loss.detach() + 0 * scores.mean()
        best = scores.topk(5)[1] == labels.unsqueeze(1)
        hits = best.astype("float32")
        return paddle.stack([loss, hits[:, 0].mean(), hits.sum(1).mean()])


def train(options: Namespace, images: Images) -> None:
    """Do all iterations of this rank.

    :raises StoppedError: on a loss that is not finite, or ranks whose weights differ.
    """
    place = ranks.find_place()
    on_gpu, amp = ranks.take_device(options, place), options.precision == "amp"
    backend = ranks.join(place)
    paddle.seed(options.seed)
    layout = "NHWC" if amp else "NCHW"  # tensor cores compute in NHWC
    model = ResNet50(layout)
    model.train()
    # Paddle counts the running statistics of a rank's own batches among the parameters.
    weights = [weight for weight in model.parameters() if weight.trainable]
    header = {
        **header_facts(options, place),
        "framework": "paddle",
        "framework_version": paddle.__version__,
        "device_name": paddle.device.cuda.get_device_name() if on_gpu else processor_name(),
        "autocast_dtype": "float16" if amp else None,
        "backend": backend,
        "device": "gpu" if on_gpu else "cpu",
        "layout": layout,
        "parameters": sum(weight.size for weight in weights),
    }
    begin_job(place, header, ranks.gather(place, place.facts()))
    rate = learning_rate(options, place.world_size)
    # On a GPU calls return before it has computed.
    waits = Waits(place, options.warmup + options.iterations, measured=not on_gpu)
    done, seconds = run_iterations(
        options,
        place,
        make_feed(options, images, place, layout),
        Step(model, place, rate, amp, on_gpu, waits),
        line=paddle_line,
        rate=rate,
        first=0,
        wait_for_ranks=partial(ranks.wait_for_ranks, place),
        waits=waits,
    )
    end = checksum(weight.numpy() for weight in weights), ranks.peak_memory(on_gpu)
    end_job(
        *(place, done, seconds, ranks.gather(place, end)),
        waits=ranks.gather(place, waits.facts()),
    )
    ranks.wait_for_ranks(place)
