#!/usr/bin/env python3
"""Train ResNet-50 v1.5 with MXNet on one rank of a job and print what it took.

For example, on each of two nodes, with Horovod:
  mpirun -np 2 -H NODE1,NODE2 python train_mxnet.py
With MXNet's key-value store the ranks are workers: DMLC_ROLE=worker and the other DMLC_ variables
in their environment, beside RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE.
"""

from __future__ import annotations

import importlib.util
import os
import sys

from run_rank import run_rank
from shared_options import check_sizes, images_to_read, shared_parser

# What Open MPI, Horovod and the launcher of the key-value store call them.
RANKS = ("OMPI_COMM_WORLD_RANK", "HOROVOD_RANK", "RANK")
SIZES = ("OMPI_COMM_WORLD_SIZE", "HOROVOD_SIZE", "WORLD_SIZE")


def make_parser():
    """Return the parser: the shared options and MXNet's own."""
    parser = shared_parser("Train ResNet-50 v1.5 with MXNet, one rank of a job.")
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
        help="who reads real data: native: our own processes, from folders; recordio: MXNet's "
        "ImageRecordIter; dali: DALI's operators for CPUs, from RecordIO",
    )
    return parser


def main():
    """Check the command line, train, and return the exit status."""
    parser = make_parser()
    options = parser.parse_args()
    check_sizes(parser, options)
    images = []
    if options.data_backend == "native":
        images = images_to_read(parser, options, told(SIZES, 1))
    elif options.data != "real" or options.data_dir is None:
        parser.error(f"--data-backend {options.data_backend} needs --data real and --data-dir")
    elif options.data_backend == "dali" and importlib.util.find_spec("nvidia") is None:
        parser.error(
            "--data-backend dali needs DALI, which this Python does not have: "
            "pip install nvidia-dali-cuda120"
        )
    os.environ["OMP_NUM_THREADS"] = str(options.threads)  # read when MXNet is loaded

    from mxnet_training import train  # noqa: PLC0415 (bad options need no MXNet)

    return run_rank(lambda: train(options, images), told(RANKS, 0))


def told(names, otherwise):
    """Return the number that the launcher gave by one of some variables."""
    return next((int(os.environ[name]) for name in names if name in os.environ), otherwise)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    status = main()
    if status:
        # A worker that parts from the key-value store in order waits for the others, for ever.
        sys.stderr.flush()
        os._exit(status)
