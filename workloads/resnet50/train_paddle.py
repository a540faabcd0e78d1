#!/usr/bin/env python3
"""Train ResNet-50 v1.5 with Paddle on one rank of a paddle.distributed.launch job.

For example, on each of two nodes, with I its number from 0, HERE its own address and NODE the
first one's:
  python -m paddle.distributed.launch --master NODE:29500 --nnodes 2 --rank I --host HERE \
    --nproc_per_node 1 train_paddle.py
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.job import run_rank
from common.process import keep_fp32
from resnet50.images import images_to_read
from resnet50.recipe import check_sizes, image_parser


def make_parser() -> argparse.ArgumentParser:
    """Return the parser: the shared options and Paddle's own."""
    parser = image_parser("Train ResNet-50 v1.5 with Paddle, one rank of a launched job.")
    paddle = parser.add_argument_group("Paddle")
    paddle.add_argument(
        "--precision",
        choices=("fp32", "amp"),
        default="fp32",
        help="amp: fp16 autocast with loss scaling, weights kept in fp32; needs a GPU",
    )
    return parser


def main() -> int:
    """Check the command line, train, and return the exit status."""
    parser = make_parser()
    options = parser.parse_args()
    check_sizes(parser, options)
    images = images_to_read(parser, options, int(os.environ.get("PADDLE_TRAINERS_NUM", "1")))
    os.environ["OMP_NUM_THREADS"] = str(options.threads)  # read when Paddle is loaded
    keep_fp32(options.precision)

    import paddle  # noqa: PLC0415 (bad options need no Paddle)

    module = "paddle_fluid_training" if paddle.__version__.startswith("1.") else "paddle_training"

    def train() -> None:
        importlib.import_module(f"resnet50.{module}").train(options, images)

    return run_rank(train, int(os.environ.get("PADDLE_TRAINER_ID", "0")))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
