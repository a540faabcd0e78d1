"""Paddle 1.8's image classification: the seconds of every step, from which images/s are derived."""

from __future__ import annotations

import re
from array import array

from ._format import LEAD, NUMBER, Format, count, evaluate, fields, precision, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    from ._columns import Observations


def identify(head: str) -> Dict[str, Any]:
    """Return the settings of the lines ``name : value`` and of the launcher's ``name: value``.

    On GPUs ``batch_size`` is of one node. On CPUs every rank takes all of it and no gradients are
    exchanged, so that with several ranks it is not that of a device.
    """

    def line(key: str) -> str:
        return r"(?m)^[^\n]{0,80}?\b" + key + r" *: *([^\s|]{1,200})"

    settings = fields(
        head,
        {
            "model": ("model", line("model"), str),
            "batch_size_per_node": ("batch_size", line("(?<!test_)batch_size"), count),
            "world_size": ("PADDLE_TRAINERS_NUM", r"PADDLE_TRAINERS_NUM\D{1,80}?(\d{1,6})", int),
            "devices_per_node": (
                "selected_gpus",
                r"selected_gpus *: *(\d[\d,]{0,200})",
                lambda text: text.count(",") + 1,
            ),
            "nodes": (
                "cluster_node_ips",
                r"cluster_node_ips *: *([\d.][\d.,]{0,2000})",
                lambda text: text.count(",") + 1,
            ),
            "precision": (
                "use_fp16",
                line("use_fp16"),
                # mixed_precision.decorate in train.py.
                lambda text: precision(truth(text)),
            ),
            "data_backend": (
                "use_dali",
                line("use_dali"),
                lambda text: "dali" if truth(text) else "native",
            ),
            "image_size": (
                "image_shape",
                r"\bimage_shape : \[\d{1,3}, \d{1,6}, (\d{1,6})\]",
                int,
            ),
            "loss_scaling": (
                "use_dynamic_loss_scaling",
                line("use_dynamic_loss_scaling"),
                lambda text: "dynamic" if truth(text) else "static",
            ),
            "on_gpus": ("use_gpu", line("use_gpu"), truth),
        },
        framework="paddle",
    )
    if settings.get("precision") != "amp":
        # Printed for every run, and without effect on those that scale no loss.
        settings.pop("loss_scaling", None)
    devices, batch = settings.get("devices_per_node"), settings.pop("batch_size_per_node", None)
    if devices and "nodes" in settings:
        settings.setdefault("world_size", devices * settings["nodes"])
    on_gpus = settings.pop("on_gpus", True)
    if batch and devices and (on_gpus or settings.get("world_size") == 1):
        settings["batch_size_per_device"] = batch // devices
        if "world_size" in settings:
            settings["global_batch_size"] = batch // devices * settings["world_size"]
    return settings


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add the evaluations at the ends of passes."""
    pattern = r"End pass (\d{1,9})\][^\n]{0,300}?test_acc1 ([01]\.\d{1,20})"
    for epoch, accuracy in re.findall(pattern, text):
        evaluate(summary, float(accuracy) * 100, int(epoch), None)


def finish(run: Dict[str, Any], observations: Observations) -> None:
    """Derive the throughput of every step of the run, if the global batch size is known."""
    batch = run["assumed"].get("global_batch_size")
    seconds = observations.column("seconds")
    if not batch or seconds is None:
        return
    column = observations.columns.setdefault(
        "throughput", array("d", [float("nan")]) * len(seconds)
    )
    for at in range(run["first"], run["first"] + run["count"]):
        if not column[at] > 0 and seconds[at] > 0:
            column[at] = batch / seconds[at]


FORMAT = Format(
    name="paddle_fluid",
    unit="images/s",
    source="PaddlePaddle/models release/1.8 (b71cf632) PaddleCV/image_classification,"
    " print_arguments and print_info in utils/utility.py, and logs of its runs on CPUs",
    needles=(", train batch ",),
    observation=(
        LEAD + r"\[Pass (?P<epoch>\d{1,9}), train batch (?P<step>\d{1,12})\][ \t]{0,8}"
        r"loss (?P<loss>" + NUMBER + ")(?:, acc1 (?P<accuracy>" + NUMBER + r"))?[^\n]{0,120}?"
        r"(?:elapse|batch_cost:?) (?P<seconds>[0-9.]{1,20}) s"
        r"(?:[^\n]{0,80}?ips: (?P<throughput>[0-9.]{1,20}) )?"
    ),
    signature=r"\[Pass \d+, train batch \d+\]",
    identify=identify,
    notes=("[End pass ", "End pass "),
    note=note,
    finish=finish,
)
