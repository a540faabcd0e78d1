#!/usr/bin/env python3
"""Train ResNet-50 v1.5 with MXNet on one rank of a job.

For example, on each of two nodes, with Horovod:
  mpirun -np 2 -H NODE1,NODE2 python train_mxnet.py
With MXNet's key-value store the ranks are workers: DMLC_ROLE=worker and the other DMLC_ variables
in their environment, beside RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.job import run_rank
from common.process import keep_fp32
from resnet50.images import images_to_read
from resnet50.recipe import check_sizes, image_parser

# The names that Open MPI, Horovod and the launcher of the key-value store use.
RANKS = ("OMPI_COMM_WORLD_RANK", "HOROVOD_RANK", "RANK")
SIZES = ("OMPI_COMM_WORLD_SIZE", "HOROVOD_SIZE", "WORLD_SIZE")


def make_parser():
    """Return the parser: the shared options and MXNet's own."""
    parser = image_parser("Train ResNet-50 v1.5 with MXNet, one rank of a job.")
    mxnet = parser.add_argument_group("MXNet")
    mxnet.add_argument(
        "--precision",
        choices=("fp32", "amp", "fp16"),
        default="fp32",
        help="amp: operators cast what they compute, weights kept in fp32; fp16: all but the "
        "optimiser in float16, on a GPU",
    )
    mxnet.add_argument(
        "--layout",
        choices=("NCHW", "NHWC"),
        help="order of images and weights; unset: NHWC for less than fp32 on a GPU",
    )
    mxnet.add_argument(
        "--data-backend",
        choices=("native", "recordio", "dali"),
        default="native",
        help="reader of real data: native: our own processes, from images/; recordio: MXNet's "
        "ImageRecordIter, from recordio/; dali: DALI's operators for CPUs, from recordio/",
    )
    return parser


def main():
    """Check the command line, train, and return the exit status."""
    parser = make_parser()
    options = parser.parse_args()
    check_sizes(parser, options)
    images = []
    if options.data_backend == "native":
        images = images_to_read(parser, options, first_number(SIZES, 1))
    elif options.data != "real" or options.data_dir is None:
        parser.error(f"--data-backend {options.data_backend} needs --data real and --data-dir")
    elif options.data_backend == "dali" and importlib.util.find_spec("nvidia") is None:
        parser.error(
            "--data-backend dali needs DALI, which this Python does not have: "
            "pip install nvidia-dali-cuda120"
        )
    os.environ["OMP_NUM_THREADS"] = str(options.threads)  # read when MXNet is loaded
    keep_fp32(options.precision)

    from resnet50.mxnet_training import train  # noqa: PLC0415 (bad options need no MXNet)

    return run_rank(lambda: train(options, images), first_number(RANKS, 0))


def first_number(variables, default):
    """Return the number in the first of some environment variables that is set."""
    return next((int(os.environ[name]) for name in variables if name in os.environ), default)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    status = main()
    if status:
        # A worker that leaves the key-value store in order waits for the others, for ever.
        sys.stderr.flush()
        os._exit(status)
