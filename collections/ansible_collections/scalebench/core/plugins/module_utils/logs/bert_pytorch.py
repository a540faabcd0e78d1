"""NVIDIA's PyTorch BERT pre-training: losses by step, sequences/s of all devices at the end."""

from __future__ import annotations

import re

from ._dllogger import DLL, MARK, parameters, summarise
from ._format import NUMBER, Format, fields, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict


def identify(head: str) -> Dict[str, Any]:
    """Return what the launch script and the PARAMETER lines say.

    The images of a step are unknown: a step may accumulate the gradients of many batches.
    """
    found: Dict[str, Any] = {"framework": "pytorch", "model": "bert", "global_batch_size": None}
    given = parameters(head)
    if given.get("batch_size_per_gpu", "").isdigit():
        found["batch_size_per_device"] = int(given["batch_size_per_gpu"])
    found.update(
        fields(
            head,
            {
                "world_size": ("num_gpus=", r"(?m)^[+ ]{0,4}num_gpus=(\d{1,6})$", int),
                "model": ("bert_model=", r"\bbert_model='?([\w-]{1,60})", str),
            },
        )
    )
    fp16 = re.search(r"\bfp16=(True|False)", head)
    if fp16:
        found["precision"] = "fp16" if truth(fp16.group(1)) else "fp32"
    return found


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add the last record: throughput of the raw training time, and the time end to end in s."""
    summarise(text, summary)
    if "training_sequences_per_second" in summary:
        summary["throughput_key"] = "training_sequences_per_second"
    if "e2e_train_time" in summary:
        summary["total_time"] = summary["e2e_train_time"]


FORMAT = Format(
    name="bert_pytorch",
    source="NVIDIA/DeepLearningExamples, PyTorch/LanguageModeling/BERT, learnt from the lines of"
    " PaddlePaddle/Perf",
    needles=("step_loss : ",),
    observation=(
        DLL + r"(?:Training )?Epoch: (?P<epoch>\d{1,9}) (?:Training )?Iteration: "
        r"(?P<step>\d{1,12}) [^\n]{0,120}?step_loss : (?P<loss>" + NUMBER + ")"
    ),
    signature=r"(?:training_sequences_per_second|step_loss) : \d",
    unit="sequences/s",
    mark=MARK,
    start=(" - PARAMETER Config : ",),
    end=("training_sequences_per_second : ",),
    identify=identify,
    notes=("training_sequences_per_second : ",),
    note=note,
)
