#!/usr/bin/env python3
"""Pre-train BERT with PyTorch on one rank of a torchrun job.

For example, on each of two nodes, with I its number from 0 and NODE the first one's address:
  torchrun --nnodes 2 --node-rank I --nproc-per-node 1 --master-addr NODE train_bert.py
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.job import run_rank
from common.options import positive
from transformer.bert_recipe import bert_parser, check_sizes


def make_parser() -> argparse.ArgumentParser:
    """Return the parser: the options of every BERT trainer and PyTorch's own."""
    parser = bert_parser("Pre-train BERT with PyTorch, one rank of a torchrun job.")
    torch = parser.add_argument_group("PyTorch")
    torch.add_argument(
        "--precision",
        choices=("fp32", "tf32", "amp", "bf16"),
        default="fp32",
        help="fp32: IEEE single precision; tf32: matrix products in TF32, on a GPU; amp: autocast "
        "to fp16 with loss scaling on a GPU, to bf16 on a CPU; bf16: autocast to bf16",
    )
    torch.add_argument(
        "--collective-timeout",
        type=positive,
        default=300,
        metavar="S",
        help="seconds a rank waits for the others",
    )
    return parser


def main() -> int:
    """Check the command line, train, and return the exit status."""
    parser = make_parser()
    options = parser.parse_args()
    check_sizes(parser, options)
    gc.disable()  # importing PyTorch makes no garbage, and looking for it takes 0.3 s
    from transformer.bert_training import train  # noqa: PLC0415 (bad options need no PyTorch)

    return run_rank(lambda: train(options, None), int(os.environ.get("RANK", "0")))


def end_now(status: int) -> None:
    """End without Python's own shutdown.

    Gloo's threads may release Python objects during it, which hangs or aborts the process now and
    then (https://github.com/pytorch/pytorch/issues/190489).
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    end_now(main())
