"""The TensorFlow 2 official models: ``TimeHistory`` every so many steps, all devices."""

from __future__ import annotations

import re

from ._format import NUMBER, Format, add_metrics, evaluate, fields, number, precision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict


def identify(head: str) -> Dict[str, Any]:
    """Return the settings of the merged parameters and the distribution strategy."""
    settings = fields(
        head,
        {
            "devices_per_node": ("num_gpus", r"'num_gpus': (\d{1,6})", int),
            "batch_size_per_device": (
                "'train_dataset'",
                r"'train_dataset': \{[^{}]*(?:\{[^{}]*\}[^{}]*)?'batch_size': (\d{1,9})",
                int,
            ),
            "image_size": ("image_size", r"'image_size': (\d{1,6})", int),
            "precision": (
                "'dtype'",
                r"'dtype': '(\w{1,20})'",
                # The policy is mixed_float16: performance.py.
                lambda text: precision(text == "float16", text),
            ),
            "global_batch_size": (
                "Parameters: batch_size",
                r"Parameters: batch_size: (\d{1,9})",
                int,
            ),
            "model": ("'model'", r"'model': \{'name': '(\w{1,40})'", str.lower),
            "xla": ("enable_xla", r"'enable_xla': (True|False)", lambda text: text == "True"),
            "data": ("data_dir", r"'data_dir': '([^']{1,500})'", lambda text: "real"),
            "nodes": ("num_workers", r"num_workers = (\d{1,6})", int),
        },
        framework="tensorflow",
    )
    if settings.get("devices_per_node"):
        settings.setdefault("nodes", 1)
        settings["world_size"] = settings["nodes"] * settings["devices_per_node"]
    elif "devices_per_node" in settings:
        # Without GPUs a worker is one device, and several may be on a node.
        del settings["devices_per_node"]
        settings["world_size"] = settings.pop("nodes", 1)
    return settings


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add the "Run stats": average throughput (including start-up) and accuracy."""
    at = text.rfind("Run stats:")
    stats = re.findall(r"'(\w{1,60})': (" + NUMBER + r")(?=[,}])", text[at : at + 20000])
    printed = ((key, number(value)) for key, value in stats)
    add_metrics(summary, {key: value for key, value in printed if value is not None})
    if "avg_exp_per_second" in summary:
        summary["throughput_key"] = "avg_exp_per_second"
    if "accuracy_top_1" in summary:
        evaluate(summary, summary["accuracy_top_1"] * 100, None, summary.get("train_finish_time"))


FORMAT = Format(
    name="tensorflow_official",
    unit="images/s",
    source="tensorflow/models 2.3, official/utils/misc/keras_utils.py, learnt from the logs of"
    " Oneflow-Inc/DLPerf@e36df2e",
    needles=("TimeHistory: ",),
    observation=(
        r"(?:[^\n]{0,60}?[IWE](?P<timestamp>\d{4} \d\d:\d\d:\d\d\.\d{1,9}))?[^\n]{0,120}?"
        r"TimeHistory: (?P<seconds>" + NUMBER + ") seconds, (?P<throughput>" + NUMBER + ") "
        r"examples/second between steps \d{1,12} and (?P<step>\d{1,12})(?=\s|$)"
    ),
    signature=r"TimeHistory: \d[^\n]{1,40} examples/second",
    spans=True,
    end=("Run stats:",),
    closes=False,
    identify=identify,
    notes=("Run stats:",),
    note=note,
)
