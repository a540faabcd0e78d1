"""NVIDIA's TensorFlow 1 ResNet-50, throughput of all devices, in three formats.

Benchmark mode prints ``total_ips``, train mode ``imgs_per_sec`` of every step. The version of 2019
prints ``:::NVLOG`` records, a step and its throughput on two lines.
"""

from __future__ import annotations

import re

from ._dllogger import DLL, MARK, parameters, summarise
from ._format import NUMBER, Format, counts, evaluate, fields, number, precision, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    from ._columns import Observations

__all__ = ["BENCHMARK", "NVLOG", "TRAIN"]


def identify(head: str) -> Dict[str, Any]:
    """Return the settings of the PARAMETER line and after "Starting Model Training"."""
    given = parameters(head)
    settings = fields(
        head,
        {
            "world_size": ("Num GPUs", r"Num GPUs:? (\d{1,6})", int),
            "batch_size_per_device": ("Per-GPU Batch Size", r"Per-GPU Batch Size:? (\d{1,9})", int),
            "steps_per_epoch": ("Steps per Epoch", r"Steps per Epoch:? ([\d.]{1,20})", number),
            "model": ("Name", r'\bName:? "?(resnet[\w.]*|resnext[\w.]*|se-resnext[\w.]*)', str),
        },
        framework="tensorflow",
        **counts(given, batch_size_per_device="batch_size"),
    )
    if "arch" in given:
        settings["model"] = given["arch"]
    if given.get("mode") == "train_and_evaluate":
        # The others train alike, and measured cells call them all train.
        settings["mode"] = given["mode"]
    amp = given.get("use_tf_amp", given.get("amp"))
    if amp is not None:
        settings["precision"] = precision(
            truth(amp), re.sub("^fp", "float", given.get("precision", ""))
        )
    elif "TF AMP is activated" in head:
        settings["precision"] = "amp"
    xla = given.get("use_xla", given.get("xla"))
    if xla is not None or "XLA is activated" in head:
        settings["xla"] = truth(xla) if xla is not None else True
    dali = given.get("use_dali", given.get("dali"))
    if dali is not None:
        settings["data_backend"] = "dali" if truth(dali) else "native"
    if "data_dir" in given:
        settings["data"] = "real" if given["data_dir"] not in ("", "None") else "synthetic"
    if "world_size" in settings and "batch_size_per_device" in settings:
        batch = settings["world_size"] * settings["batch_size_per_device"]
        settings["global_batch_size"] = batch
        if given.get("iter_unit") == "epoch" and settings.get("steps_per_epoch"):
            # Those of whole batches: the rest of the files is not trained on.
            settings["images_per_epoch"] = round(settings["steps_per_epoch"] * batch)
    return settings


def finish(run: Dict[str, Any], observations: Observations) -> None:
    """Give the last step of every epoch its epoch: it is printed as one of the next."""
    per_epoch = run["identity"].get("steps_per_epoch")
    steps, epochs = observations.column("step"), observations.column("epoch")
    if per_epoch and steps and epochs:
        for at in range(run["first"], run["first"] + run["count"]):
            if steps[at] > 0 and steps[at] % per_epoch == 0:
                epochs[at] = steps[at] // per_epoch - 1


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add ``train_throughput`` and every evaluation's top-1 accuracy."""
    summarise(text, summary)
    if "train_throughput" in summary:
        summary["throughput_key"] = "train_throughput"
    for accuracy in re.findall(r"top1_accuracy : (\d\.\d{1,20})", text):
        evaluate(summary, float(accuracy) * 100, None, summary.get("finished"))


_RECORD = r"[^\n]{0,200}?:::NVLOG\S{1,20} \S{1,80} "


def _nvlog_note(text: str, summary: Dict[str, Any]) -> None:
    """Add the average that the benchmark hook prints at its end."""
    printed = re.findall(r"Average total_ips: (" + NUMBER + r")(?=\s|$)", text)
    for value in map(number, printed):
        if value is not None:
            summary["Average total_ips"] = value
            summary["throughput_key"] = "Average total_ips"


NVLOG = Format(
    name="tensorflow_ngc_nvlog",
    unit="images/s",
    source="NVIDIA/DeepLearningExamples of 2019, benchmark_hooks.py, learnt from the logs of"
    " PaddlePaddle/Perf@9e39535",
    needles=(") iteration: ", ") total_ips: "),
    observation=(
        r"(?:"
        + _RECORD
        + r"[0-9.]{1,25} \(\S{1,80}\) iteration: (?P<step>\d{1,12})[^\n]*\n)?"
        + _RECORD
        + r"(?P<timestamp>[0-9.]{1,25}) \(\S{1,80}\) total_ips: (?P<throughput>"
        + NUMBER
        + r")(?=[ \n]|$)"
    ),
    signature=r":::NVLOG[^\n]{1,200}?total_ips: \d",
    pair=True,
    start=("Starting Model Training",),
    end=("Average total_ips: ",),
    identify=identify,
    notes=("Average total_ips: ",),
    note=_nvlog_note,
)

BENCHMARK = Format(
    name="tensorflow_ngc_benchmark",
    unit="images/s",
    source="NVIDIA/DeepLearningExamples 99b1c898, TensorFlow/Classification/ConvNets, learnt from"
    " the logs of wanghuancoder/PerformanceReport@66245fd and PaddlePaddle/Perf",
    needles=("total_ips : ",),
    observation=(
        DLL + r"\((?P<epoch>\d{1,9}), (?P<step>\d{1,12})\) +"
        r"total_ips : (?P<throughput>" + NUMBER + r")(?=[ \n]|$)"
    ),
    signature=r"\) +(?:total_ips|train_throughput) : \d",
    mark=MARK,
    start=(" - PARAMETER arch : ",),
    # Train mode evaluates with the benchmark's hook.
    yields_to=("tensorflow_ngc_train",),
    end=(") train_throughput : ",),
    identify=identify,
    notes=(") train_throughput : ",),
    note=note,
)
TRAIN = Format(
    name="tensorflow_ngc_train",
    unit="images/s",
    source="NVIDIA/DeepLearningExamples fed7ba99, TensorFlow/Classification/ConvNets, train hook",
    needles=("imgs_per_sec : ",),
    observation=(
        DLL + r"\((?P<epoch>\d{1,9}), (?P<step>\d{1,12})\) [^\n]{0,200}?"
        r"imgs_per_sec : (?P<throughput>" + NUMBER + ")"
        r"(?:[^\n]{0,200}?total_loss : (?P<loss>" + NUMBER + "))?"
    ),
    signature=r"imgs_per_sec : \d",
    mark=MARK,
    start=(" - PARAMETER arch : ",),
    end=("Ending Model Training", "train_throughput : ", "top1_accuracy : "),
    closes=False,
    identify=identify,
    notes=(") train_throughput : ", "top1_accuracy : "),
    note=note,
    finish=finish,
)
