"""NVIDIA's TensorFlow BERT pre-training: ``throughput_train`` of all devices."""

from __future__ import annotations

import re

from ._dllogger import DLL, MARK, summarise
from ._format import NUMBER, Format, fields, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict


def identify(head: str) -> Dict[str, Any]:
    """Return what the launch script and the estimator say.

    The images of a step are unknown: a step may accumulate the gradients of many batches.
    """
    found: Dict[str, Any] = {"framework": "tensorflow", "model": "bert", "global_batch_size": None}
    found.update(
        fields(
            head,
            {
                "batch_size_per_device": ("Batch size = ", r"  Batch size = (\d{1,9})", int),
                "world_size": ("num_gpus=", r"(?m)^[+ ]{0,4}num_gpus=(\d{1,6})$", int),
                "precision": (
                    "precision=",
                    r"(?m)^[+ ]{0,4}precision=(fp16|fp32|amp|tf32)$",
                    lambda text: "amp" if text == "fp16" else text,
                ),
            },
        )
    )
    if "XLA activated" in head:
        found["xla"] = True
    return found


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add the final average, and the time of training as the script counts it."""
    summarise(text, summary)
    if "throughput_train" in summary:
        summary["throughput_key"] = "throughput_train"
    for value in re.findall(r"Total Training Time = (" + NUMBER + ") for", text):
        summary["total_time"] = number(value)


FORMAT = Format(
    name="bert_tensorflow",
    source="NVIDIA/DeepLearningExamples, TensorFlow/LanguageModeling/BERT, learnt from the lines"
    " of PaddlePaddle/Perf",
    needles=("throughput_train : ",),
    observation=(
        DLL + r"Iteration: (?P<step>\d{1,12}) +throughput_train : (?P<throughput>" + NUMBER + ")"
        r"(?: (?P<unit>[a-z]{1,20}/s))?(?:[^\n]{0,200}?total_loss : (?P<loss>" + NUMBER + "))?"
    ),
    signature=r"throughput_train : \d",
    unit="sequences/s",
    mark=MARK,
    end=(" -  throughput_train : ", "Throughput Average ("),
    closes=False,
    identify=identify,
    notes=(" -  throughput_train : ", "Total Training Time = "),
    note=note,
)
