"""OneFlow-Benchmark's classification: ``samples/s`` of all devices, later with the unix time."""

from __future__ import annotations

import re

from ._format import NUMBER, Format, count, evaluate, fields, precision, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict


def identify(head: str) -> Dict[str, Any]:
    """Return the settings of the lines ``name = value`` before the training."""

    def line(key: str) -> str:
        return r"(?m)^[^\n]{0,60}?\b" + key + r" *= *([^\s]{1,200})"

    settings = fields(
        head,
        {
            "model": ("model", line("model"), str),
            "batch_size_per_device": (
                "batch_size_per_device",
                line("(?<!val_)batch_size_per_device"),
                count,
            ),
            "nodes": ("num_nodes", line("num_nodes"), count),
            "devices_per_node": ("gpu_num_per_node", line("gpu_num_per_node"), count),
            "precision": (
                "use_fp16",
                line("use_fp16"),
                # enable_auto_mixed_precision.
                lambda text: precision(truth(text)),
            ),
            "image_size": ("image_size", line("image_size"), count),
            "xla": ("use_xla", line("use_xla"), truth),
            "data": ("train_data_dir", line("train_data_dir"), lambda text: "real"),
            "steps_per_line": (
                "loss_print_every_n_iter",
                line("loss_print_every_n_iter"),
                count,
            ),
        },
        framework="oneflow",
    )
    # A flag or folder that was not given is printed as None.
    if re.search(line("use_fp16"), head):
        settings.setdefault("precision", "fp32")
    if re.search(line("train_data_dir"), head):
        settings.setdefault("data", "synthetic")
    if settings.get("nodes") and settings.get("devices_per_node"):
        settings["world_size"] = settings["nodes"] * settings["devices_per_node"]
        if settings.get("batch_size_per_device"):
            settings["global_batch_size"] = (
                settings["world_size"] * settings["batch_size_per_device"]
            )
    return settings


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add the evaluations."""
    pattern = (
        r"validation: epoch (\d{1,9}), iter \d{1,12}, top_1: ([01]\.\d{1,20})"
        r"(?:, top_k: [0-9.]{1,20})?(?:, samples/s: [0-9.]{1,20})?(?: (\d{9,11}\.\d{1,9}))?"
    )
    for epoch, accuracy, stamp in re.findall(pattern, text):
        evaluate(summary, float(accuracy) * 100, int(epoch), float(stamp) if stamp else None)


FORMAT = Format(
    name="oneflow",
    unit="images/s",
    source="Oneflow-Inc/OneFlow-Benchmark Classification/cnns, config.py and util.py at 892f87e6"
    " and, with the unix time, at 638d8f42 (v0.2.0)",
    needles=("train: epoch ",),
    observation=(
        r"[^\n]{0,120}?train: epoch (?P<epoch>\d{1,9}), iter (?P<step>\d{1,12}),"
        r" loss: (?P<loss>" + NUMBER + ")(?:, top_1: (?P<accuracy>" + NUMBER + "))?"
        "(?:, top_k: " + NUMBER + ")?, samples/s: (?P<throughput>" + NUMBER + r")(?=[ ,\n]|$)"
        r"(?: (?P<timestamp>\d{9,11}(?:\.\d{1,9})?)(?=\s|$))?"
    ),
    signature=r"train: epoch \d+, iter \d+, loss: [^\n]{1,120}?samples/s: ",
    spans=True,
    identify=identify,
    notes=("validation: epoch ",),
    note=note,
)
