"""One training step as a graph of OneFlow: forward, backward, exchange of gradients, update."""

from __future__ import annotations

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional
from training_rules import LABEL_SMOOTHING, MOMENTUM, WEIGHT_DECAY


class Step(nn.Graph):
    """Train `model`, whose weights every rank holds, by one batch that all ranks share.

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


def smoothed_loss(scores, labels):
    """Return the cross entropy with smoothed labels, which OneFlow 0.8 has no option for.

    Rethinking the Inception Architecture (Szegedy et al. 2015, arXiv 1512.00567), section 7.
    """
    hard = functional.cross_entropy(scores, labels)
    uniform = -functional.log_softmax(scores, dim=1).mean()
    return (1 - LABEL_SMOOTHING) * hard + LABEL_SMOOTHING * uniform
