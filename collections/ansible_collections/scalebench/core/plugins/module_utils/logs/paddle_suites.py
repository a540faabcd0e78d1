"""What other suites of Paddle print: ``batch_cost`` and ``ips`` of a device, in their orders."""

from __future__ import annotations

from ._format import LEAD, NUMBER, Format
from .paddlenlp import identify

FORMAT = Format(
    name="paddle_suites",
    source="PaddleSeg, PaddleDetection, PaddleVideo and PaddleNLP's translation, from the format"
    " strings of their training loops; no log of them was at hand",
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
