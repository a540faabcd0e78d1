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

from common.figures import FirstStep
from common.job import run_rank
from common.options import positive
from common.process import end_now
from transformer import bert_recipe as recipe
from transformer.options import check_options, transformer_parser

OWN = ("sequence_length", "sharding", "text", "dropout", "activation_checkpointing", "compile")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser: the shared options and BERT's own."""
    parser = transformer_parser(
        "Pre-train BERT with PyTorch, one rank of a torchrun job.",
        f"the highest, to which it rises over the first {recipe.RATE_WARMUP_SHARE:.0%}% of the "
        "steps and from which it falls to 0; unset: that of the size",
        precisions=("fp32", "tf32", "amp", "bf16"),
    )
    group = parser.add_argument_group("BERT")
    group.add_argument("--size", choices=tuple(recipe.SIZES), default="tiny", help="of the model")
    group.add_argument(
        "--text",
        action="store_true",
        help="train on pieces of the trainers' own source code, read as bytes, instead of one "
        "random batch over and over",
    )
    group.add_argument(
        "--vocabulary",
        type=positive,
        default=recipe.VOCABULARY,
        metavar="N",
        help="tokens that there are; NVIDIA's programs pad it to 30528, a multiple of 8",
    )
    group.add_argument(
        "--dropout",
        action="store_true",
        help=f"drop {recipe.DROPOUT} of the activations, as published. Each rank then draws "
        "others, and the loss depends on the number of ranks",
    )
    return parser


def check_sizes(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End with `parser.error` where a sequence or the vocabulary is impossible."""
    length = options.sequence_length
    if not recipe.SHORTEST <= length <= recipe.POSITIONS:
        parser.error(
            f"--sequence-length {length}: BERT has {recipe.POSITIONS} positions, and two segments "
            f"need {recipe.SHORTEST}"
        )
    if options.vocabulary < recipe.VOCABULARY:
        parser.error(
            f"--vocabulary {options.vocabulary}: at least {recipe.VOCABULARY}, as published"
        )


def model_facts(options: argparse.Namespace) -> dict[str, object]:
    """Return what the header states of the model, from which its operations follow."""
    size, vocabulary = recipe.SIZES[options.size], options.vocabulary
    return {
        "name": "bert",
        "size": options.size,
        "parameters": size.parameters(vocabulary),
        "embedding_parameters": size.embedding_parameters(vocabulary),
        "layers": size.layers,
        "hidden": size.hidden,
        "feed_forward": size.feed_forward,
        "vocabulary": vocabulary,
        "sequence_length": options.sequence_length,
        "predictions": recipe.prediction_slots(options.sequence_length),
        "causal": False,
    }


def main(first_step: FirstStep) -> int:
    """Check the command line, train, and return the exit status."""
    parser = make_parser()
    options = parser.parse_args()
    check_options(parser, options)
    check_sizes(parser, options)
    gc.disable()  # importing PyTorch makes no garbage, and looking for it takes 0.3 s

    def train_rank() -> None:
        # Bad options need no PyTorch.
        from transformer.bert import Bert, batches  # noqa: PLC0415
        from transformer.tokens import own_sources, text_facts  # noqa: PLC0415
        from transformer.training import Method, Workload, train  # noqa: PLC0415

        text = own_sources() if options.text else b""
        workload = Workload(
            build=lambda: Bert(
                recipe.SIZES[options.size],
                options.vocabulary,
                options.dropout,
                options.activation_checkpointing,
            ),
            batches=lambda place, device: batches(text, options, place, device),
            rate=recipe.SIZES[options.size].rate,
            unit="sequences",
            units_per_sample=1,
            # The conventions of decoders leave out the output layer, whose matrix is an embedding.
            flops={
                "stated": recipe.sequence_flops(
                    recipe.SIZES[options.size], options.sequence_length, options.vocabulary
                )
            },
            header={
                "model": model_facts(options),
                "own_factors": {
                    "model_size": options.size,
                    **{name: getattr(options, name) for name in OWN},
                },
                **({"data": None, **text_facts(text)} if text else {}),
            },
            method=Method(
                recipe.BETAS,
                recipe.WEIGHT_DECAY,
                recipe.ADAM_EPSILON,
                recipe.LARGEST_GRADIENT,
                recipe.rate_at,
            ),
        )
        train(options, workload, first_step)

    return run_rank(train_rank, int(os.environ.get("RANK", "0")))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    end_now(main(FirstStep()))
