#!/usr/bin/env python3
"""Train ResNet-50 v1.5 with TensorFlow and Horovod on one rank of an mpirun job.

For example, on two nodes that reach each other by ssh:
  mpirun -np 2 -host NODE1:1,NODE2:1 python3 train_tensorflow.py
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.job import run_rank
from common.process import keep_fp32
from common.target_training import TRAIN, add_target_options, target_training
from resnet50.images import images_to_evaluate, images_to_read
from resnet50.recipe import check_sizes, image_parser


def make_parser():
    """Return the parser: the shared options and TensorFlow's own."""
    parser = image_parser("Train ResNet-50 v1.5 with TensorFlow and Horovod, one rank of a job.")
    add_target_options(parser)
    tensorflow = parser.add_argument_group("TensorFlow")
    tensorflow.add_argument(
        "--precision",
        choices=("fp32", "amp"),
        default="fp32",
        help="amp: Keras' mixed precision, weights kept in fp32; fp16 with a constant loss scale "
        "on a GPU, bf16 on a CPU",
    )
    tensorflow.add_argument(
        "--xla", action="store_true", help="compile forward and backward pass with XLA"
    )
    tensorflow.add_argument(
        "--data-backend",
        choices=("native", "tfrecord"),
        default="native",
        help="reader of real data: native: our own processes, from images/; tfrecord: tf.data, "
        "from tfrecord/",
    )
    return parser


def main():
    """Check the command line, train, and return the exit status."""
    parser = make_parser()
    options = parser.parse_args()
    check_sizes(parser, options)
    world_size = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
    images = []
    if options.data_backend == "native":
        images = images_to_read(parser, options, world_size)
    elif options.data != "real" or options.data_dir is None or options.mode != TRAIN:
        parser.error(f"--data-backend tfrecord needs --data real, --data-dir and --mode {TRAIN}")
    target, evaluated = target_training(
        parser, options, len(images), world_size, images_to_evaluate
    )
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only; read when it is loaded
    logging.getLogger("tensorflow").setLevel(logging.ERROR)  # Horovod uses deprecated names
    keep_fp32(options.precision)
    gc.disable()  # importing TensorFlow makes no garbage, and looking for it takes 0.4 s
    from resnet50.tensorflow_training import train  # noqa: PLC0415 (bad options need no TensorFlow)

    return run_rank(
        lambda: train(options, images, target, evaluated),
        int(os.environ.get("OMPI_COMM_WORLD_RANK", "0")),
    )


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
