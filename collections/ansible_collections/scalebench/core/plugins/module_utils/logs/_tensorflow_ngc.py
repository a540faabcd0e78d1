"""What NVIDIA's TensorFlow 1 ResNet-50 prints of its settings and at its end."""

from __future__ import annotations

import re

from ._dllogger import parameters, summarise
from ._format import evaluate, fields, precision, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

__all__ = ["identify", "note"]


def identify(head: str) -> Dict[str, Any]:
    """Return what the PARAMETER line and the lines after "Starting Model Training" say."""
    given = parameters(head)
    found: Dict[str, Any] = {"framework": "tensorflow"}
    found.update(
        fields(
            head,
            {
                "world_size": ("Num GPUs", r"Num GPUs:? (\d{1,6})", int),
                "batch_size_per_device": (
                    "Per-GPU Batch Size",
                    r"Per-GPU Batch Size:? (\d{1,9})",
                    int,
                ),
                "model": ("Name", r'\bName:? "?(resnet[\w.]*|resnext[\w.]*|se-resnext[\w.]*)', str),
            },
        )
    )
    if given.get("batch_size", "").isdigit():
        found.setdefault("batch_size_per_device", int(given["batch_size"]))
    if "arch" in given:
        found["model"] = given["arch"]
    amp = given.get("use_tf_amp", given.get("amp"))
    if amp is not None:
        found["precision"] = precision(
            truth(amp), re.sub("^fp", "float", given.get("precision", ""))
        )
    elif "TF AMP is activated" in head:
        found["precision"] = "amp"
    xla = given.get("use_xla", given.get("xla"))
    if xla is not None or "XLA is activated" in head:
        found["xla"] = truth(xla) if xla is not None else True
    dali = given.get("use_dali", given.get("dali"))
    if dali is not None:
        found["data_backend"] = "dali" if truth(dali) else "native"
    if "data_dir" in given:
        found["data"] = "real" if given["data_dir"] not in ("", "None") else "synthetic"
    if "world_size" in found and "batch_size_per_device" in found:
        found["global_batch_size"] = found["world_size"] * found["batch_size_per_device"]
    return found


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add ``train_throughput`` and every evaluation's top-1 accuracy."""
    summarise(text, summary)
    if "train_throughput" in summary:
        summary["throughput_key"] = "train_throughput"
    for accuracy in re.findall(r"top1_accuracy : (\d\.\d{1,20})", text):
        evaluate(summary, float(accuracy) * 100, None, summary.get("finished"))
