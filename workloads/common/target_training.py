"""Training for some epochs to a target accuracy: options, learning rate, evaluations and lines.

The lines are AI-Rank's. Accuracies are printed as shares: a reader of this form takes a log without
any above 1 for one of shares.
"""

from __future__ import annotations

import math
import os
import time

from common.options import percentage, positive, refuse_unread
from common.process import age
from common.report_lines import put

TRAIN, TRAIN_AND_EVALUATE = "train", "train_and_evaluate"
MARK = "- AI-Rank-log"
WARMUP_SHARE = 8 / 120  # NVIDIA's ResNet-50 v1.5 recipe warms up for 8 of 120 epochs


def add_target_options(parser):
    """Add the options of trainers that can evaluate."""
    group = parser.add_argument_group("time to train")
    group.add_argument(
        "--mode",
        choices=(TRAIN, TRAIN_AND_EVALUATE),
        default=TRAIN,
        help="train_and_evaluate: epochs, each with an evaluation, instead of --iterations; the "
        "learning rate rises linearly, then falls by a cosine",
    )
    group.add_argument(
        "--epochs", type=positive, default=10, metavar="N", help="the most that are trained"
    )
    group.add_argument(
        "--target-accuracy",
        type=percentage,
        metavar="PERCENT",
        help="top-1 that ends the training; unset: no target",
    )


def target_training(parser, options, samples, world_size, samples_to_evaluate):
    """Return the training with evaluations and what it evaluates; twice None without evaluations.

    Ends with `parser.error` where the options do not allow it.

    :param samples: number of training samples.
    :param samples_to_evaluate: called with the data folder; may raise OSError and ValueError.
    :returns: a :class:`TargetTraining` and the samples to evaluate.
    """
    if options.mode == TRAIN:
        refuse_unread(parser, ("epochs", "target_accuracy"), f"--mode {TRAIN_AND_EVALUATE}")
        return None, None
    refuse_unread(parser, ("iterations",), f"--mode {TRAIN}")
    if options.data == "synthetic":
        parser.error(f"--mode {TRAIN_AND_EVALUATE} needs --data real: noise cannot be learnt")
    try:
        evaluated = samples_to_evaluate(options.data_dir)
        return TargetTraining(options, samples, world_size), evaluated
    except (OSError, ValueError) as error:
        return parser.error(str(error))


def scheduled_rate(peak, number, total):
    """Return the learning rate of one iteration: a linear warm-up, then half a cosine to 0.

    :param peak: the rate after the warm-up.
    :param number: the iteration, counted from 1.
    :param total: iterations of all epochs.
    """
    warmup = math.ceil(total * WARMUP_SHARE)
    if number <= warmup:
        return peak * number / warmup
    return peak * (1 + math.cos(math.pi * (number - warmup) / (total - warmup))) / 2


class TargetTraining:
    """The length of a training with evaluations, and when it reached its target.

    :param options: of the command line; its ``iterations`` is set to those of all epochs.
    :param samples: how many samples an epoch may train.
    :raises ValueError: if all epochs together are not longer than the warm-up.
    """

    def __init__(self, options, samples, world_size):
        # That of the process: the images were listed since, for seconds where there are many.
        seconds = age(os.getpid())
        self.begin = time.time() - seconds
        self._origin = time.monotonic() - seconds
        self.reached = None
        self.epochs, self.target = options.epochs, options.target_accuracy
        batch = options.batch_size * world_size
        self.steps_per_epoch = samples // batch
        self.total = self.steps_per_epoch * self.epochs
        if self.total <= options.warmup:
            raise ValueError(
                f"{self.epochs} epochs of {samples} samples in batches of {batch} are {self.total} "
                f"iterations, no more than --warmup {options.warmup}: raise --epochs or lower "
                "--warmup"
            )
        options.iterations = self.total - options.warmup
        self.facts = {
            "mode": TRAIN_AND_EVALUATE,
            "epochs": self.epochs,
            "target_accuracy": self.target,
            "images_per_epoch": self.steps_per_epoch * batch,
        }

    def now(self):
        """Return the time, in seconds since 1970 by the clock as it was when training began.

        A clock that is set meanwhile would change the time that training took.
        """
        return self.begin + time.monotonic() - self._origin

    def evaluated(self, correct, samples):
        """Record an evaluation; return its accuracy in percent, whether training ends, the time."""
        percent, now = accuracy(correct, samples), self.now()
        if self.target is not None and percent >= self.target and self.reached is None:
            self.reached = now
        return percent, self.reached is not None, now


class EpochEvaluation:
    """Evaluate after each epoch and print the accuracy; a framework adds ``count_correct``.

    :param training: the :class:`TargetTraining`.
    :param samples: how many are evaluated by all ranks together.
    :param peak_rate: the learning rate after the warm-up.
    :param place: a ``ranks.Place``; the first rank prints.
    """

    def __init__(self, training, samples, peak_rate, place):
        self.training, self.samples, self.place, self.epochs = training, samples, place, 0
        self.peak_rate = peak_rate
        self._print(begin_line(training.begin))

    def rate(self, number):
        """Return the learning rate of iteration `number`, counted from 1."""
        return scheduled_rate(self.peak_rate, number, self.training.total)

    def is_due(self, number):
        """Return whether iteration `number`, counted from 1, ends an epoch."""
        return number % self.training.steps_per_epoch == 0

    def count_correct(self):
        """Return how many samples of all ranks the model labels correctly, on every rank."""
        raise NotImplementedError

    def __call__(self):
        """Evaluate; return whether the training ends, which is the same on all ranks."""
        self.epochs += 1
        percent, ends, now = self.training.evaluated(self.count_correct(), self.samples)
        self._print(evaluation_line(now, percent, self.epochs))
        return ends

    def close(self):
        """Print the total time, and the time to the target."""
        self._print(*end_lines(self.training.now(), self.training))

    def _print(self, *lines):
        if self.place.rank == 0:
            for line in lines:
                put(line)


def accuracy(correct, samples):
    """Return top-1 accuracy in percent, rounded as it is printed.

    :raises ValueError: if there were no samples.
    """
    if not samples:
        raise ValueError("nothing was evaluated")
    return round(100 * correct / samples, 4)


def begin_line(time):
    """Return the line that states when the training began, before the framework was imported.

    :param time: seconds since 1970, as in all these lines.
    """
    return f"{MARK} {time:.3f} test_begin"


def evaluation_line(time, percent, epochs):
    """Return the line of one evaluation, after so many `epochs`."""
    return f"{MARK} {time:.3f} eval_accuracy:{percent / 100:.6f}, total_epoch_cnt:{epochs}"


def end_lines(time, training):
    """Return the last lines of a :class:`TargetTraining`, the target's only if it was reached."""
    lines = [f"{MARK} {time:.3f} total_use_time:{time - training.begin:.3f}sec"]
    if training.reached is not None:
        to_target = training.reached - training.begin
        lines.insert(0, f"{MARK} {time:.3f} target_quality_time:{to_target:.3f}sec")
    return [*lines, f"{MARK} {time:.3f} test_finish"]
