"""NVIDIA's PyTorch ResNet-50: DLLogger, ``train.total_ips`` of all devices, then a Summary."""

from __future__ import annotations

import re

from ._dllogger import DLL, MARK, parameters, summarise, validations
from ._format import NUMBER, Format, counts, precision, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict


def identify(head: str) -> Dict[str, Any]:
    """Return the settings of the PARAMETER lines; ``batch_size`` is of one device."""
    given = parameters(head)
    settings: Dict[str, Any] = {"framework": "pytorch"}
    if "arch" in given:
        settings["model"] = given["arch"]
    images = re.search(r"\bread (\d{1,12}) files from", head)
    if images:
        settings["images_per_epoch"] = int(images.group(1))
    settings.update(counts(given, batch_size_per_device="batch_size", world_size="world_size"))
    if "amp" in given:
        fp16 = "float16" if truth(given.get("fp16", "")) else "float32"
        settings["precision"] = precision(truth(given["amp"]), fp16)
        if "dynamic_loss_scale" in given and settings["precision"] != "fp32":
            dynamic = truth(given["dynamic_loss_scale"])
            settings["loss_scaling"] = "dynamic" if dynamic else "static"
    if "data_backend" in given:
        backend = given["data_backend"]
        settings["data_backend"] = "dali" if backend.startswith("dali") else "native"
        settings["data"] = "synthetic" if backend.startswith("syn") else "real"
    if "world_size" in settings and "batch_size_per_device" in settings:
        settings["global_batch_size"] = settings["world_size"] * settings["batch_size_per_device"]
    return settings


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add the Summary records and the evaluations."""
    summarise(text, summary)
    if "train.total_ips" in summary:
        summary["throughput_key"] = "train.total_ips"
    validations(text, summary)


FORMAT = Format(
    name="pytorch_ngc",
    unit="images/s",
    source="NVIDIA/DeepLearningExamples, PyTorch/Classification/ConvNets, learnt from the logs of"
    " wanghuancoder/PerformanceReport@66245fd and PaddlePaddle/Perf",
    needles=("train.total_ips : ",),
    observation=(
        DLL + r"Epoch: (?P<epoch>\d{1,9}) Iteration: (?P<step>\d{1,12}) +"
        r"(?:train\.loss : (?P<loss>" + NUMBER + r"))?[^\n]{0,120}?"
        r"train\.total_ips : (?P<throughput>" + NUMBER + ") (?P<unit>[a-z]{1,20}/s)"
    ),
    signature=r"train\.total_ips : \d",
    mark=MARK,
    start=(" - PARAMETER data : ",),
    end=(" - Summary: ",),
    identify=identify,
    notes=(" - Summary: ", "val.top1 : "),
    note=note,
)
