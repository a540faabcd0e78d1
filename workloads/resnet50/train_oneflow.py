#!/usr/bin/env python3
"""Train ResNet-50 v1.5 with OneFlow on one rank of a oneflow.distributed.launch job.

For example, on each of two nodes, with I its number from 0 and NODE the first one's address:
  python -m oneflow.distributed.launch --nnodes 2 --node_rank I --nproc_per_node 1 \
    --master_addr NODE --master_port 29500 train_oneflow.py
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.job import run_rank
from common.process import keep_fp32
from resnet50.images import images_to_read
from resnet50.recipe import check_sizes, image_parser


def make_parser():
    """Return the parser: the shared options and OneFlow's own."""
    parser = image_parser("Train ResNet-50 v1.5 with OneFlow, one rank of a launched job.")
    oneflow = parser.add_argument_group("OneFlow")
    oneflow.add_argument(
        "--precision",
        choices=("fp32", "amp"),
        default="fp32",
        help="amp: fp16 with loss scaling, weights kept in fp32; needs a GPU",
    )
    return parser


def main():
    """Check the command line, train, and return the exit status."""
    parser = make_parser()
    options = parser.parse_args()
    check_sizes(parser, options)
    images = images_to_read(parser, options, int(os.environ.get("WORLD_SIZE", "1")))
    os.environ["OMP_NUM_THREADS"] = str(options.threads)  # read when OneFlow is loaded
    keep_fp32(options.precision)

    from resnet50.oneflow_training import train  # noqa: PLC0415 (bad options need no OneFlow)

    return run_rank(lambda: train(options, images), int(os.environ.get("RANK", "0")))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
