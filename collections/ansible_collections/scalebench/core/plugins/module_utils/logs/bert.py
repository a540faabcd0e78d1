"""NVIDIA's BERT pre-training with PyTorch and TensorFlow: sequences/s of all devices."""

from __future__ import annotations

import re

from ._dllogger import DLL, MARK, parameters, summarise
from ._format import NUMBER, Format, fields, number, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

__all__ = ["PYTORCH", "TENSORFLOW"]


def _pytorch_identify(head: str) -> Dict[str, Any]:
    """Return the settings of the launch script and the PARAMETER lines.

    The global batch size is unknown: a step may accumulate the gradients of many batches.
    """
    settings: Dict[str, Any] = {"framework": "pytorch", "model": "bert", "global_batch_size": None}
    given = parameters(head)
    if given.get("batch_size_per_gpu", "").isdigit():
        settings["batch_size_per_device"] = int(given["batch_size_per_gpu"])
    settings.update(
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
        settings["precision"] = "fp16" if truth(fp16.group(1)) else "fp32"
    return settings


def _pytorch_note(text: str, summary: Dict[str, Any]) -> None:
    """Add the last record: throughput without start-up, and the end-to-end time in s."""
    summarise(text, summary)
    if "training_sequences_per_second" in summary:
        summary["throughput_key"] = "training_sequences_per_second"
    if "e2e_train_time" in summary:
        summary["total_time"] = summary["e2e_train_time"]


PYTORCH = Format(
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
    identify=_pytorch_identify,
    notes=("training_sequences_per_second : ",),
    note=_pytorch_note,
)


def _tensorflow_identify(head: str) -> Dict[str, Any]:
    """Return the settings of the launch script and the estimator.

    The global batch size is unknown: a step may accumulate the gradients of many batches.
    """
    settings = fields(
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
        framework="tensorflow",
        model="bert",
        global_batch_size=None,
    )
    if "XLA activated" in head:
        settings["xla"] = True
    return settings


def _tensorflow_note(text: str, summary: Dict[str, Any]) -> None:
    """Add the final average, and the training time that the script prints, in s."""
    summarise(text, summary)
    if "throughput_train" in summary:
        summary["throughput_key"] = "throughput_train"
    for value in map(number, re.findall(r"Total Training Time = (" + NUMBER + ") for", text)):
        if value is not None:
            summary["total_time"] = value


TENSORFLOW = Format(
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
    identify=_tensorflow_identify,
    notes=(" -  throughput_train : ", "Total Training Time = "),
    note=_tensorflow_note,
)
