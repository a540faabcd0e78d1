"""The line that NVIDIA's TensorFlow ResNet-50 prints for a training step.

After the training hook of NVIDIA/DeepLearningExamples, TensorFlow/Classification/ConvNets, and its
DLLogger. The hook keeps the first 20 steps to itself; here every step is printed.
Standard library only and runs on Python 3.7, as the oldest TensorFlow needs.
"""

from __future__ import annotations

import time


def step_line(step, *, epoch, losses, rate, samples, seconds, now):
    """State one step of the whole job.

    :param step: counted from 0 over all epochs.
    :param epoch: passes over the data set finished before it (0 for synthetic data).
    :param losses: means over the global batch: cross entropy, and the weights' share of the loss.
    :param rate: learning rate.
    :param samples: images of the global batch.
    :param seconds: wall time since the step before ended.
    :param now: seconds since 1970 at the end of the step; printed in UTC.
    """
    whole, part = divmod(int(now * 1_000_000), 1_000_000)
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(whole))
    cross_entropy, l2 = losses
    return (
        f"DLL {stamp}.{part:06d} - ({epoch}, {step}) imgs_per_sec : {samples / seconds:.4f} "
        f"cross_entropy : {cross_entropy:.6f} l2_loss : {l2:.6f} "
        f"total_loss : {cross_entropy + l2:.6f} learning_rate : {rate:.6g} "
    )
