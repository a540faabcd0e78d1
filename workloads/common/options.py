"""The command line that all trainers share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

# MiB, all gradients of ResNet-50: no core is idle that could overlap their exchange.
CPU_BUCKET = 128


class ShowDefaults(argparse.ArgumentDefaultsHelpFormatter):
    """Help that ends with the default, where there is one."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def trainer_parser(description, samples, rate):
    """Return a parser with the options that depend on neither the model nor the framework.

    :param samples: what a batch consists of, in the plural.
    :param rate: the help's words on the learning rate: what it does, and what it is if unset.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=ShowDefaults)
    measure = parser.add_argument_group("measurement")
    measure.add_argument(
        "--batch-size",
        type=positive,
        default=4,
        metavar="N",
        help=f"{samples} per device and iteration",
    )
    add_measurement(measure, "iterations", warmup=20, iterations=100)
    data = parser.add_argument_group("data")
    data.add_argument(
        "--data",
        choices=("synthetic", "real"),
        default="synthetic",
        help=f"synthetic: one random batch made on the device; real: {samples} of --data-dir",
    )
    data.add_argument("--data-dir", type=Path, metavar="DIR", help="the folder of a data set")
    data.add_argument(
        "--workers", type=not_negative, default=2, metavar="N", help="reader processes per rank"
    )
    training = parser.add_argument_group("training")
    training.add_argument("--seed", type=not_negative, default=1, help="of weights and data")
    training.add_argument(
        "--learning-rate",
        type=positive_number,
        metavar="X",
        help=rate,
    )
    return parser


def add_measurement(group, what, warmup, iterations):
    """Add the options of what is timed: how often, on which device, with how many threads.

    :param what: one of which is timed at a time, in the plural.
    :param warmup: default of --warmup, as `iterations` is of --iterations.
    """
    group.add_argument(
        "--warmup",
        type=not_negative,
        default=warmup,
        metavar="N",
        help=f"{what} before the measured ones",
    )
    group.add_argument(
        "--iterations", type=positive, default=iterations, metavar="N", help=f"measured {what}"
    )
    group.add_argument(
        "--device",
        choices=("auto", "cpu", "gpu"),
        default="auto",
        help="auto: a GPU if there is one",
    )
    group.add_argument(
        "--threads",
        type=positive,
        default=default_threads(os.environ),
        metavar="N",
        help="CPU threads per rank; the default is OMP_NUM_THREADS where it is set",
    )


def refuse_unread(parser, names, condition):
    """End with `parser.error` where the command line has an option that has no effect.

    :param names: of the options, as the parsed ones are named.
    :param condition: under which they have one: other options.
    """
    # A default does not take the place of what a namespace has.
    blank = argparse.Namespace(**dict.fromkeys(vars(parser.parse_args())))
    given = parser.parse_args(namespace=blank)
    for name in names:
        if getattr(given, name) is not None:
            parser.error(f"--{name.replace('_', '-')} is only read with {condition}")


def add_exchange(group):
    """Add the options of how PyTorch's ranks exchange gradients."""
    group.add_argument(
        "--bucket-mb",
        type=positive,
        metavar="MIB",
        help="gradients that ddp exchanges at once; unset: its own on a GPU, "
        f"{CPU_BUCKET} on a CPU",
    )
    add_collective_timeout(group)


def add_collective_timeout(group):
    """Add the option of how long torch.distributed waits."""
    group.add_argument(
        "--collective-timeout",
        type=positive,
        default=300,
        metavar="S",
        help="seconds a rank waits for the others, of torch.distributed",
    )


def default_threads(environment):
    """Return OMP_NUM_THREADS where it is a positive integer, else 1."""
    value = environment.get("OMP_NUM_THREADS", "")
    return int(value) if value.isdigit() and int(value) > 0 else 1


def positive(text):
    """Return an integer of at least 1."""
    return _integer(text, 1)


def not_negative(text):
    """Return an integer of at least 0."""
    return _integer(text, 0)


def positive_number(text):
    """Return a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def percentage(text):
    """Return a number above 0 and at most 100."""
    value = positive_number(text)
    if value > 100:
        raise argparse.ArgumentTypeError(f"{text} is above 100 percent")
    return value


def _integer(text, least):
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"{value} is not at least {least}")
    return value
