"""BERT pre-training: NVIDIA's with PyTorch and TensorFlow, OneFlow's and PaddlePaddle's.

All count the sequences/s of all devices.
"""

from __future__ import annotations

import re
from math import nan

from . import oneflow
from ._dllogger import DLL, MARK, parameters, summarise
from ._format import LEAD, NUMBER, Format, counts, fields, number, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    from ._columns import Observations

__all__ = ["ONEFLOW", "PADDLE", "PYTORCH", "TENSORFLOW"]


def _pytorch_identify(head: str) -> Dict[str, Any]:
    """Return the settings of the launch script and the PARAMETER lines.

    The global batch size is unknown: a step may accumulate the gradients of many batches.
    """
    settings: Dict[str, Any] = {"framework": "pytorch", "model": "bert", "global_batch_size": None}
    given = parameters(head)
    settings.update(counts(given, batch_size_per_device="batch_size_per_gpu"))
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
        # apex.amp with opt_level O2.
        settings["precision"] = "amp" if truth(fp16.group(1)) else "fp32"
        scale = re.search(r"\bloss_scale=([0-9.]{1,20})", head)
        if scale and settings["precision"] == "amp":
            settings["loss_scaling"] = "static" if float(scale.group(1)) else "dynamic"
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


def _oneflow_identify(head: str) -> Dict[str, Any]:
    """Return the settings of the lines ``name = value``; the model is printed as BERT Pretrain."""
    return {**oneflow.identify(head), "model": "bert", "data": "real"}


ONEFLOW = Format(
    name="bert_oneflow",
    source="Oneflow-Inc/OneFlow-Benchmark LanguageModeling/BERT, Metric in util.py and print_args"
    " in config.py at 8a78044a, 638d8f42 (v0.2.0) and 854ddd06 (v0.3.0)",
    needles=("mlm_loss: ",),
    observation=(
        r"[^\n]{0,60}?\bstep: (?P<step>\d{1,12}), total_loss: (?P<loss>" + NUMBER + "),"
        " mlm_loss: " + NUMBER + ", nsp_loss: " + NUMBER + r", throughput: (?P<throughput>"
        r"[0-9.]{1,20})(?=[ \n]|$)(?: (?P<timestamp>\d{9,11}(?:\.\d{1,9})?)(?=\s|$))?"
    ),
    signature=r"step: \d+, total_loss: [^\n]{1,80}?nsp_loss: [^\n]{1,30}?, throughput: ",
    unit="sequences/s",
    spans=True,
    identify=_oneflow_identify,
)


def _paddle_identify(head: str) -> Dict[str, Any]:
    """Return the settings of the lines ``name: value`` and what the trainer says of its devices.

    ``batch_size`` is of one device, and counts tokens unless ``in_tokens`` is False.
    """
    settings = fields(
        head,
        {
            "devices_per_node": ("Device count ", r"(?m)^Device count (\d{1,4})$", int),
            "nodes": ("trainers_num:", r"\btrainers_num:(\d{1,6})\b", int),
            "tokens": ("batch_size: ", r"(?m)^batch_size: (\d{1,9})$", int),
            "sequence_length": ("max_seq_len: ", r"(?m)^max_seq_len: (\d{1,9})$", int),
            "precision": (
                "use_fp16: ",
                r"(?m)^use_fp16: (\w{1,5})$",
                # Weights are kept in float32, too: optimization.py.
                lambda text: "amp" if truth(text) else "fp32",
            ),
            "loss_scaling": (
                "use_dynamic_loss_scaling: ",
                r"(?m)^use_dynamic_loss_scaling: (\w{1,5})$",
                lambda text: "dynamic" if truth(text) else "static",
            ),
        },
        framework="paddle",
        model="bert",
    )
    if settings.get("precision") != "amp":
        # Printed for every run, and without effect on those that scale no loss.
        settings.pop("loss_scaling", None)
    if "args.is_distributed: False" in head:
        settings["nodes"] = 1
    tokens, length = settings.pop("tokens", None), settings.get("sequence_length")
    if tokens and re.search(r"(?m)^in_tokens: False$", head):
        settings["batch_size_per_device"] = tokens
    elif tokens and length:
        settings["batch_size_per_device"] = tokens // length
    if settings.get("devices_per_node") and settings.get("nodes"):
        settings["world_size"] = settings["devices_per_node"] * settings["nodes"]
    return settings


def _paddle_finish(run: Dict[str, Any], observations: Observations) -> None:
    """Turn the printed steps/s into sequences/s; into NaN where the batch of a node is unknown.

    A trainer prints the steps/s of all nodes together: its own times their number.
    """
    assumed, column = run["assumed"], observations.column("throughput")
    batch, world = (assumed.get(key) for key in ("batch_size_per_device", "world_size"))
    nodes = assumed.get("nodes") or (1 if world == 1 else None)
    per_node = assumed.get("devices_per_node") or (world // nodes if world and nodes else None)
    known = batch and per_node and not observations.beyond["count"]
    of_a_node = batch * per_node if known else nan
    if column is not None:
        for at in range(run["first"], run["first"] + run["count"]):
            column[at] *= of_a_node


PADDLE = Format(
    name="bert_paddle",
    source="PaddlePaddle/models release/1.8 (b71cf632) PaddleNLP/pretrain_language_models/BERT,"
    " train.py, and print_arguments in utils/args.py",
    needles=("next_sent_acc: ",),
    observation=(
        LEAD + r"\bepoch: (?P<epoch>\d{1,9}), progress: \d{1,9}/\d{1,9},"
        r" step: (?P<step>\d{1,12}), loss: (?P<loss>" + NUMBER + "), ppl: " + NUMBER + ","
        " next_sent_acc: " + NUMBER + r", speed: (?P<throughput>[0-9.]{1,20}) steps/s"
    ),
    signature=r"next_sent_acc: [^\n]{1,30}?, speed: [0-9.]+ steps/s, file: ",
    unit="sequences/s",
    identify=_paddle_identify,
    finish=_paddle_finish,
)
