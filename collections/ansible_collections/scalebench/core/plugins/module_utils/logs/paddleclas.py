"""PaddleClas of 2020 and 2.x: ``ips`` of one device, of every n-th step."""

from __future__ import annotations

import re

from ._format import LEAD, NUMBER, Format, evaluate, fields, number, precision, truth
from ._stamp import moment
from .paddlenlp import LAUNCHER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    from ._columns import Observations

EVALUATION = (
    r"(\d{4}[-/]\d\d[-/]\d\d \d\d:\d\d:\d\d)[^\n]{0,60}?"
    r"(?:END epoch:(\d{1,9}) +valid |\[Eval\]\[Epoch (\d{1,9})\]\[Avg\])"
    r"[^\n]{0,200}?top1: *([01]\.\d{1,20})"
)


def identify(head: str) -> Dict[str, Any]:
    """Return the settings of the launcher and the configuration tree."""

    def line(key: str) -> str:
        return r"INFO: +" + key + r" : ([^\n]{1,200})"

    settings = fields(
        head,
        {
            "model": (
                "name : ",
                r"(?m)^[^\n]{0,160}?(?:ARCHITECTURE|Arch) : [^\n]*\n(?:[^\n]*\n){0,3}?"
                r"[^\n]{0,160}?INFO: +name : (\w{1,60})",
                str,
            ),
            "batch_size_per_device": (
                "sampler",
                r"(?m)^[^\n]{0,160}?\bTrain : [^\n]*\n(?:(?![^\n]{0,160}?INFO: \S)[^\n]*\n){0,60}?"
                r"[^\n]{0,160}?sampler : [^\n]*\n[^\n]{0,160}?batch_size : (\d{1,9})",
                int,
            ),
            "batch_size_total": (
                "TRAIN : ",
                r"(?m)^[^\n]{0,160}?TRAIN : [^\n]*\n[^\n]{0,160}?batch_size : (\d{1,9})",
                int,
            ),
            **LAUNCHER,
            "epochs": ("epochs : ", line("epochs"), int),
            "image_size": ("image_shape", r"image_shape : \[\d{1,9}, (\d{1,6})", int),
            "data_backend": (
                "use_dali",
                line("use_dali"),
                lambda text: "dali" if truth(text) else "native",
            ),
        },
        framework="paddle",
    )
    settings["precision"] = _precision(head)
    total, world = settings.pop("batch_size_total", None), settings.get("world_size")
    if world is None and settings.get("devices_per_node"):
        world = settings["world_size"] = settings["devices_per_node"] * settings.get("nodes", 1)
    if total and world:
        settings["batch_size_per_device"] = total // world
    elif total:
        settings["global_batch_size"] = total
    if world and "batch_size_per_device" in settings:
        settings["global_batch_size"] = settings["batch_size_per_device"] * world
    return settings


def _precision(head: str) -> str:
    if re.search(r"use_pure_fp16 : True|INFO: +level : O2", head):
        return "fp16"
    return precision("INFO: AMP : " in head)


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add the ``ips`` at the end of the last epoch and the evaluations."""
    pattern = r"END epoch:\d{1,9} +train [^\n]{0,300}?ips: (" + NUMBER + ") "
    for value in map(number, re.findall(pattern, text)):
        if value is not None:
            summary["ips"] = value
            summary["throughput_key"] = "ips"
    for epoch in re.findall(r"END epoch:(\d{1,9}) +train ", text):
        summary["epochs_ended"] = int(epoch) + 1
    for stamp, old, new, accuracy in re.findall(EVALUATION, text):
        evaluate(summary, float(accuracy) * 100, int(old or new), moment(stamp))


def finish(run: Dict[str, Any], observations: Observations) -> None:
    """Derive what is not printed: whether the epochs are complete, batch size and devices.

    ``ips`` times ``batch_cost`` is the batch size of one device; the configuration of 2020 has
    that of all devices of a node.
    """
    identity = run["identity"]
    ended, epochs = run["summary"].get("epochs_ended", 0), identity.pop("epochs", None)
    if epochs and ended < epochs and run["ending"]["kind"] == "complete":
        detail = f"epoch {ended + 1} of {epochs} does not end"
        run["ending"] = {"kind": "truncated", "detail": detail}
    if "batch_size_per_device" in identity or not run["count"]:
        return
    last = run["first"] + run["count"] - 1
    ips, cost = observations.column("throughput"), observations.column("seconds")
    total = identity.get("global_batch_size")
    if ips is None or cost is None or not total or not ips[last] * cost[last] > 0:
        return
    batch = round(ips[last] * cost[last])
    if batch and abs(ips[last] * cost[last] / batch - 1) < 0.02 and total % batch == 0:
        identity["batch_size_per_device"] = batch
        identity["world_size"] = total // batch


FORMAT = Format(
    name="paddleclas",
    unit="images/s",
    source="PaddlePaddle/PaddleClas of 2020-12 and 2.0 to 2.5, learnt from the logs of"
    " wanghuancoder/PerformanceReport@66245fd and PaddlePaddle/Perf",
    needles=("train step:", "[Train][Epoch "),
    observation=(
        LEAD + r"(?:epoch:|\[Train\]\[Epoch )(?P<epoch>\d{1,9})"
        r"(?:[ ,]{1,8}train step:|/\d{1,9}\]\[Iter: )(?P<step>\d{1,12})"
        r"(?:[^\n:]{0,12}lr[^\n:]{0,30}: *[-+0-9.e]{1,20})?"
        r"(?:[^\n:]{0,12}?top1: *(?P<accuracy>" + NUMBER + "))?"
        r"(?:[^\n]{0,80}?loss: *(?P<loss>" + NUMBER + ")"
        r"(?:[^\n]{0,80}?top1: *(?P<accuracy_2>" + NUMBER + "))?)?"
        r"(?:[^\n]{0,200}?batch_cost: *|[^\n]{0,200}?elapse: *)(?P<seconds>[0-9.]{1,20}) ?s"
        r"[^\n]{0,80}?ips: *(?P<throughput>" + NUMBER + ") (?:images|samples)/s"
    ),
    signature=r"(?:epoch:\d+[ ,]{1,8}train step:|\[Train\]\[Epoch )[^\n]{1,300}?ips: *\d",
    scope="per_device",
    identify=identify,
    notes=("END epoch:", "[Eval][Epoch "),
    note=note,
    finish=finish,
)
