#!/usr/bin/env python3
"""Train ResNet-50 v1.5 with PyTorch on one rank of a torchrun job.

For example, on each of two nodes, with I its number from 0 and NODE the first one's address:
  torchrun --nnodes 2 --node-rank I --nproc-per-node 1 --master-addr NODE train_pytorch.py
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.util
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.job import run_rank
from common.options import add_exchange
from common.process import end_now, need_compiler
from common.target_training import add_target_options, target_training
from resnet50.images import images_to_evaluate, images_to_read
from resnet50.recipe import check_sizes, image_parser


def make_parser() -> argparse.ArgumentParser:
    """Return the parser: the shared options and PyTorch's own."""
    parser = image_parser("Train ResNet-50 v1.5 with PyTorch, one rank of a torchrun job.")
    add_target_options(parser)
    torch = parser.add_argument_group("PyTorch")
    torch.add_argument(
        "--precision",
        choices=("fp32", "tf32", "amp", "bf16"),
        default="fp32",
        help="fp32: IEEE single precision; tf32: convolutions and matrix products in TF32, on a "
        "GPU; amp: autocast to fp16 with loss scaling on a GPU, to bf16 on a CPU; bf16: autocast "
        "to bf16",
    )
    torch.add_argument(
        "--data-backend",
        choices=("native", "dali"),
        default="native",
        help="reader of real data: native: our own processes; dali: NVIDIA's DALI, which decodes "
        "on a GPU where there is one",
    )
    torch.add_argument(
        "--channels-last",
        action=argparse.BooleanOptionalAction,
        help="keep images and weights in NHWC order; unset: on a GPU except for fp32, on a CPU "
        "for fp32 alone",
    )
    torch.add_argument(
        "--compile",
        action="store_true",
        help="compile the model with torch.compile; the warm-up then takes minutes",
    )
    torch.add_argument(
        "--cuda-graphs",
        action="store_true",
        help="replay the model's kernels as CUDA graphs, on a GPU",
    )
    torch.add_argument(
        "--onednn",
        action=argparse.BooleanOptionalAction,
        help="convolve with oneDNN on a CPU; unset: except for fp32 with few pixels in a batch",
    )
    torch.add_argument(
        "--zero-init-residual",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="start each block's last batch normalisation at 0: a small batch learns steadily",
    )
    add_exchange(torch)
    return parser


def main() -> int:
    """Check the command line, train, and return the exit status."""
    parser = make_parser()
    options = parser.parse_args()
    check_sizes(parser, options)
    if options.compile and options.cuda_graphs:
        parser.error("--cuda-graphs cannot capture a model that --compile compiles: choose one")
    if options.compile:
        need_compiler(parser)
    if options.data_backend == "dali" and options.data != "real":
        parser.error("--data-backend dali needs --data real")
    if options.data_backend == "dali" and not has_dali():
        parser.error(
            "--data-backend dali needs DALI, which this Python does not have: "
            "pip install nvidia-dali-cuda130, or -cuda120 for CUDA 12"
        )
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    images = images_to_read(parser, options, world_size)
    target, evaluated = target_training(
        parser, options, len(images), world_size, images_to_evaluate
    )

    gc.disable()  # importing PyTorch makes no garbage, and looking for it takes 0.3 s
    from resnet50.pytorch_training import train  # noqa: PLC0415 (bad options need no PyTorch)

    return run_rank(
        lambda: train(options, images, target, evaluated), int(os.environ.get("RANK", "0"))
    )


def has_dali() -> bool:
    """Return whether this Python has DALI, without importing it."""
    with contextlib.suppress(ModuleNotFoundError):  # not even another package of NVIDIA
        return importlib.util.find_spec("nvidia.dali") is not None
    return False


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    end_now(main())
