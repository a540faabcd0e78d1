"""Training for some epochs to a target accuracy: its options, its length, when it ends.

Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import argparse
import time

import ai_rank_lines
from image_folder import class_folders, labelled_images
from rate_schedule import scheduled_rate
from shared_options import positive, positive_number
from training_rules import learning_rate

TRAIN, TRAIN_AND_EVALUATE = "train", "train_and_evaluate"


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
        help="top-1 that ends the training; unset: none",
    )


def percentage(text):
    """Read a number above 0 and not above 100."""
    value = positive_number(text)
    if value > 100:
        raise argparse.ArgumentTypeError(f"{text} is above 100 percent")
    return value


class TargetTraining:
    """One training with evaluations.

    :param options: of the command line; its ``iterations`` is set to what the epochs come to.
    :param images: how many images an epoch may train.
    :param world_size: number of ranks.
    :raises ValueError: if all epochs together are shorter than the warm-up.
    """

    def __init__(self, options, images, world_size):
        self.begin = time.time()
        self.reached = None
        self.epochs, self.target = options.epochs, options.target_accuracy
        batch = options.batch_size * world_size
        self.steps_per_epoch = images // batch
        self.total = self.steps_per_epoch * self.epochs
        if self.total <= options.warmup:
            raise ValueError(
                f"{self.epochs} epochs of {images} images in batches of {batch} are {self.total} "
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

    def evaluated(self, correct, images):
        """Take an evaluation; return its accuracy in percent, whether all ends, and the time."""
        percent, now = ai_rank_lines.accuracy(correct, images), time.time()
        if self.target is not None and percent >= self.target and self.reached is None:
            self.reached = now
        return percent, self.reached is not None, now


class EpochEvaluation:
    """Evaluates after each epoch and prints the accuracy; a framework adds ``count_correct``.

    :param training: the :class:`TargetTraining`.
    :param images: how many are evaluated by all ranks together.
    :param options: of the command line.
    :param place: a ``rank_place.Place``; the first rank prints.
    """

    def __init__(self, training, images, options, place):
        self.training, self.count, self.place, self.epochs = training, images, place, 0
        self.peak = learning_rate(options, place.world_size)
        self._print(ai_rank_lines.begin_line(training.begin))

    def rate(self, number):
        """Return the learning rate of iteration `number`, counted from 1."""
        return scheduled_rate(self.peak, number, self.training.total)

    def is_due(self, number):
        """Tell whether iteration `number`, counted from 1, ends an epoch."""
        return number % self.training.steps_per_epoch == 0

    def count_correct(self):
        """Return how many images of all ranks the model names rightly, the same on all ranks."""
        raise NotImplementedError

    def __call__(self):
        """Evaluate; return whether the training ends, which is the same on all ranks."""
        self.epochs += 1
        percent, ends, now = self.training.evaluated(self.count_correct(), self.count)
        self._print(ai_rank_lines.evaluation_line(now, percent, self.epochs))
        return ends

    def close(self):
        """Print how long it took, and how long to the target."""
        self._print(*ai_rank_lines.end_lines(time.time(), self.training))

    def _print(self, *lines):
        if self.place.rank == 0:
            print(*lines, sep="\n")


def target_training(parser, options, images, world_size):
    """Return the training with evaluations and its images, two times None for one without.

    Ends with `parser.error` where it cannot be done.

    :param images: `(path, label)` of the training images.
    :returns: a :class:`TargetTraining` and `(path, label)` of the images to evaluate.
    """
    if options.mode == TRAIN:
        if options.target_accuracy is not None:
            parser.error(f"--target-accuracy is only read with --mode {TRAIN_AND_EVALUATE}")
        return None, None
    if options.data == "synthetic":
        parser.error(f"--mode {TRAIN_AND_EVALUATE} needs --data real: noise cannot be learnt")
    try:
        _check_classes(options.data_dir)
        evaluated = labelled_images(options.data_dir, "val")
        training = TargetTraining(options, len(images), world_size)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return training, evaluated


def _check_classes(data_dir):
    """Refuse validation images of other classes: labels are places among the class folders."""
    train, val = (
        [folder.name for folder in class_folders(data_dir / "images" / part)]
        for part in ("train", "val")
    )
    if train != val:
        odd = sorted(set(train) ^ set(val))
        raise ValueError(
            f"images/train and images/val of {data_dir} differ in {len(odd)} class folders, "
            f"{odd[0]} the first of them"
        )
