"""One training step in Paddle: forward, backward, exchange of gradients, update."""

from __future__ import annotations

import paddle
import paddle.distributed as dist
from paddle import Tensor, nn
from paddle.nn import functional
from rank_place import Place
from training_rules import LABEL_SMOOTHING, MOMENTUM, WEIGHT_DECAY


class Step:
    """Train `model` by one batch at a time, with its gradients averaged over all ranks."""

    def __init__(self, model: nn.Layer, place: Place, rate: float, amp: bool, on_gpu: bool) -> None:
        self.world_size, self.amp = place.world_size, amp
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
        means, exchange = measures(loss, scores, labels), None
        if self.world_size > 1:
            means = means / self.world_size
            exchange = dist.all_reduce(means, sync_op=False)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.clear_grad()
        if exchange is not None:
            exchange.wait()
        return means


def distribute(model: nn.Layer, place: Place, on_gpu: bool) -> nn.Layer:
    """Wrap the model so that gradients are averaged over the ranks.

    A single rank has nobody to exchange with and stays unwrapped: a slower 1n1g would flatter every
    speed-up. On a CPU all gradients travel at once: no core is idle that could overlap them.
    """
    if place.world_size == 1:
        return model
    mib = 25 if on_gpu else 128
    return paddle.DataParallel(
        model, comm_buffer_size=mib, last_comm_buffer_size=1 if on_gpu else mib
    )


def measures(loss: Tensor, scores: Tensor, labels: Tensor) -> Tensor:
    """Return the loss and the shares of images whose label came first and among the first five.

    The loss is no number where a score is none: Paddle's cross entropy on a CPU makes ln(1000) of
    scores that are no numbers, and a run that diverged would go on as if it trained.
    """
    with paddle.no_grad():
        loss = loss.detach() + 0 * scores.mean()
        best = scores.topk(5)[1] == labels.unsqueeze(1)
        hits = best.astype("float32")
        return paddle.stack([loss, hits[:, 0].mean(), hits.sum(1).mean()])
