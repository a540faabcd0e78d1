"""MXNet's Speedometer callback; in NVIDIA's script every rank prints the speed of all devices."""

from __future__ import annotations

import re

from . import _mxnet
from ._format import LEAD, NUMBER, Format, evaluate, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict


def identify(head: str) -> Dict[str, Any]:
    """Return what the line "Start with arguments Namespace(...)" says."""
    found = re.findall(r"Namespace\(([^\n]{1,20000})\)", head)
    pairs = re.findall(r"(\w{1,60})=('[^']*'|\[[^\]]*\]|[^,]*)", found[-1]) if found else []
    return _mxnet.settings({key: value.strip("'") for key, value in pairs}, head)


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add how long the experiment took, the evaluations and the table."""
    for value in re.findall(r"Experiment took: (" + NUMBER + ") sec", text):
        summary["total_time"] = number(value)
    for epoch, value in re.findall(r"Epoch\[(\d{1,9})\] Validation-accuracy=(0\.\d{1,20})", text):
        evaluate(summary, float(value) * 100, int(epoch), None)
    _mxnet.tables(text, summary)


FORMAT = Format(
    name="mxnet_speedometer",
    source="apache/mxnet python/mxnet/callback.py and NVIDIA/DeepLearningExamples 99b1c898, learnt"
    " from the logs of wanghuancoder/PerformanceReport@66245fd",
    needles=("Speed: ",),
    observation=(
        LEAD + r"Epoch\[(?P<epoch>\d{1,9})\] +Batch +\[(?:\d{1,12}-)?(?P<step>\d{1,12})\]\s{1,4}"
        r"Speed: (?P<throughput>" + NUMBER + ") samples/sec"
        r"(?:\tLR: [^\t\n]{1,32})?(?:\s{1,4}accuracy=(?P<accuracy>" + NUMBER + "))?"
        r"(?:\tloss=(?P<loss>" + NUMBER + "))?"
    ),
    signature=r"Epoch\[\d+\] +Batch +\[[\d-]+\]\s{1,4}Speed: \d",
    start=("Start with arguments Namespace(",),
    end=("Experiment took: ",),
    closes=False,
    identify=identify,
    notes=("Experiment took: ", "Validation-accuracy=", *_mxnet.TABLES),
    note=note,
)
