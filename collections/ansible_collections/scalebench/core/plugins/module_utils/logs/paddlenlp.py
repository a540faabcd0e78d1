"""PaddleNLP's pre-training and other suites of Paddle: ``ips`` of one device, every n-th step."""

from __future__ import annotations

from ._format import LEAD, NUMBER, Format, fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    from ._columns import Observations

__all__ = ["PRETRAINING", "SUITES"]

# What Paddle's launcher prints, as ``fields`` takes it.
LAUNCHER: Dict[str, Any] = {
    "world_size": ("PADDLE_TRAINERS_NUM", r"PADDLE_TRAINERS_NUM\D{1,80}?(\d{1,6})", int),
    "devices_per_node": (
        "LAUNCH INFO",
        r"LAUNCH INFO[^\n]{1,40}? (?:devices|gpus): (\d[\d,]{0,200})",
        lambda text: text.count(",") + 1,
    ),
    "nodes": ("nnodes: ", r"nnodes: (\d{1,6})\b", int),
}


def identify(head: str) -> Dict[str, Any]:
    """Return the settings of the launcher and the arguments."""
    settings = fields(
        head,
        {
            "model": ("model", r"model_name_or_path[^\w\n]{1,12}([\w./-]{1,100})", str),
            "batch_size_per_device": ("batch_size", r"\bbatch_size[^\w\n]{1,60}(\d{1,9})\b", int),
            **LAUNCHER,
        },
        framework="paddle",
    )
    if "world_size" not in settings and settings.get("devices_per_node"):
        settings["world_size"] = settings["devices_per_node"] * settings.get("nodes", 1)
    return settings


def finish(run: Dict[str, Any], observations: Observations) -> None:
    """Derive the batch size of a device, ``ips`` times ``avg_batch_cost``, if not printed."""
    ips, cost = observations.column("throughput"), observations.column("seconds")
    last = run["first"] + run["count"] - 1
    if run["count"] and ips is not None and cost is not None and ips[last] * cost[last] >= 0.5:
        batch = round(ips[last] * cost[last])
        run["identity"].setdefault("batch_size_per_device", batch)
    world, batch_size = (run["identity"].get(k) for k in ("world_size", "batch_size_per_device"))
    if world and batch_size:
        run["identity"]["global_batch_size"] = world * batch_size


PRETRAINING = Format(
    name="paddlenlp",
    source="PaddlePaddle/PaddleNLP run_pretrain.py, learnt from the lines of PaddlePaddle/Perf",
    needles=("ips: ",),
    observation=(
        LEAD + r"(?:tobal|global|total) step:? (?P<step>\d{1,12})[ /\d]{0,20},"
        r"(?: epoch: (?P<epoch>\d{1,9}),)?[^\n]{0,60}?loss: (?P<loss>" + NUMBER + "),"
        r"[^\n]{0,200}?avg_batch_cost: (?P<seconds>[0-9.]{1,20}) sec"
        r"[^\n]{0,200}?[ ,]ips: (?P<throughput>" + NUMBER + ") (?P<unit>[a-z]{1,20}/s)"
    ),
    signature=r"avg_batch_cost: [0-9.]+ sec,[^\n]{1,200}?[ ,]ips: \d",
    unit="sequences/s",
    scope="per_device",
    identify=identify,
    finish=finish,
)

SUITES = Format(
    name="paddle_suites",
    source="PaddleSeg, PaddleDetection, PaddleVideo and PaddleNLP's translation, from the format"
    " strings of their training loops; no log of them was available",
    needles=("batch_cost: ",),
    observation=(
        LEAD + r"(?:step_idx: (?P<step>\d{1,12}), )?[Ee]poch:? ?\[? {0,4}(?P<epoch>\d{1,9})"
        r"(?:[^\n]{0,20}?(?:iter: |train step:|\] \[ {0,9})(?P<step_2>\d{1,12}))?"
        r"(?:[^\n]{0,200}?\bloss: *(?P<loss>" + NUMBER + "))?"
        r"[^\n]{0,300}?batch_cost: *(?P<seconds>[0-9.]{1,20})"
        r"[^\n]{0,200}?[ ,]ips: *(?P<throughput>" + NUMBER + ") (?P<unit>[a-z]{1,20}/s)"
    ),
    signature=r"batch_cost: *[0-9.]+[^\n]{1,200}?[ ,]ips: *[0-9.]+ [a-z]+/s",
    unit="samples/s",
    scope="per_device",
    fallback=True,
    identify=identify,
)
