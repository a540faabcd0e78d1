"""The command line that the trainers of this folder share, checked before PyTorch is imported."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from common.options import add_exchange, positive, refuse_unread, trainer_parser
from common.process import need_compiler


def transformer_parser(
    description: str, rate: str, precisions: Sequence[str] = ("fp32", "tf32", "bf16")
) -> argparse.ArgumentParser:
    """Return the parser of the options that do not depend on the model."""
    parser = trainer_parser(description, samples="sequences", rate=rate)
    group = parser.add_argument_group("transformer")
    group.add_argument(
        "--precision",
        choices=precisions,
        default="fp32",
        help="fp32: IEEE single precision; tf32: matrix products in TF32, on a GPU; bf16: autocast "
        "to bf16, and with fsdp sharded weights in fp32 that are gathered as bf16; amp, without "
        "fsdp: autocast to fp16 with loss scaling on a GPU, to bf16 on a CPU",
    )
    group.add_argument(
        "--sequence-length", type=positive, default=128, metavar="N", help="tokens of a sequence"
    )
    group.add_argument(
        "--sharding",
        choices=("ddp", "fsdp"),
        default="ddp",
        help="ddp: every rank has all weights; fsdp: each has a part and gathers the others block "
        "by block. A single rank has all of them either way, and in bf16 casts them likewise",
    )
    group.add_argument(
        "--activation-checkpointing",
        action="store_true",
        help="compute each block's activations again in the backward pass: less memory, a third "
        "more operations, which MFU does not count",
    )
    group.add_argument(
        "--compile",
        action="store_true",
        help="compile each block with torch.compile; the first step then takes longer",
    )
    add_exchange(group)
    return parser


def check_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End with `parser.error` where something cannot be done here."""
    if options.data != "synthetic":
        parser.error("--data real: there is no reader of tokens from a data set")
    refuse_unread(parser, ("data_dir", "workers"), "a data set, of which there is no reader")
    if options.sharding == "fsdp":
        refuse_unread(parser, ("bucket_mb",), "--sharding ddp")
    if options.precision == "amp" and options.sharding == "fsdp":
        parser.error("--precision amp does not scale the loss of sharded weights: choose bf16")
    if options.compile:
        need_compiler(parser)
