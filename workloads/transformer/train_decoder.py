#!/usr/bin/env python3
"""Train a decoder of the Llama family with PyTorch on one rank of a torchrun job.

For example, on each of two nodes, with I its number from 0 and NODE the first one's address:
  torchrun --nnodes 2 --node-rank I --nproc-per-node 1 --master-addr NODE train_decoder.py
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.figures import FirstStep
from common.job import run_rank
from common.process import end_now
from transformer.flops import flops_per_token
from transformer.options import check_options, transformer_parser
from transformer.sizes import SIZES


def make_parser() -> argparse.ArgumentParser:
    """Return the parser: the shared options and the decoder's own."""
    parser = transformer_parser(
        "Train a decoder with PyTorch, one rank of a torchrun job.",
        "constant; unset: that of the size",
    )
    group = parser.add_argument_group("decoder")
    group.add_argument("--size", choices=SIZES, default="10m", help="of the model")
    group.add_argument(
        "--text",
        action="store_true",
        help="train on pieces of the trainers' own source code, read as bytes, instead of one "
        "random batch over and over",
    )
    return parser


def model_facts(options: argparse.Namespace) -> dict[str, object]:
    """Return what the header states of the model, from which its operations follow."""
    size = SIZES[options.size]
    return {
        "name": "llama",
        "size": options.size,
        "parameters": size.parameters,
        "embedding_parameters": size.embedding_parameters,
        "layers": size.layers,
        "hidden": size.hidden,
        "sequence_length": options.sequence_length,
    }


def main(first_step: FirstStep) -> int:
    """Check the command line, train, and return the exit status."""
    parser = make_parser()
    options = parser.parse_args()
    check_options(parser, options)
    gc.disable()  # importing PyTorch makes no garbage, and looking for it takes 0.3 s

    def train_rank() -> None:
        # Bad options need no PyTorch.
        from transformer import tokens  # noqa: PLC0415
        from transformer.decoder import Decoder  # noqa: PLC0415
        from transformer.training import Workload, train  # noqa: PLC0415

        size, facts = SIZES[options.size], model_facts(options)
        text = tokens.own_sources() if options.text else b""
        own = ("sequence_length", "text", "sharding", "activation_checkpointing", "compile")
        workload = Workload(
            build=lambda: Decoder(size, options.sequence_length, options.activation_checkpointing),
            batches=lambda place, device: (
                tokens.text_batches(text, options, place, device)
                if text
                else tokens.random_batches(size.vocabulary, options, place, device)
            ),
            rate=size.rate,
            unit="tokens",
            units_per_sample=options.sequence_length,
            flops=flops_per_token(facts),
            header={
                "model": facts,
                "own_factors": {
                    "model_size": options.size,
                    **{name: getattr(options, name) for name in own},
                },
                **({"data": None, **tokens.text_facts(text)} if text else {}),
            },
        )
        train(options, workload, first_step)

    return run_rank(train_rank, int(os.environ.get("RANK", "0")))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    end_now(main(FirstStep()))
