"""NVIDIA's older TensorFlow 1 ResNet-50: ``:::NVLOG`` records, a step and its rate on two lines."""

from __future__ import annotations

import re

from . import _tensorflow_ngc
from ._format import NUMBER, Format, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

RECORD = r"[^\n]{0,200}?:::NVLOG\S{1,20} \S{1,80} "


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add the average that the benchmark hook prints at its end."""
    for value in re.findall(r"Average total_ips: (" + NUMBER + r")(?=\s|$)", text):
        try:
            summary["Average total_ips"] = number(value)
        except (ValueError, OverflowError):
            continue
        summary["throughput_key"] = "Average total_ips"


FORMAT = Format(
    name="tensorflow_ngc_nvlog",
    source="NVIDIA/DeepLearningExamples of 2019, benchmark_hooks.py, learnt from the logs of"
    " PaddlePaddle/Perf@9e39535",
    needles=(") iteration: ", ") total_ips: "),
    observation=(
        r"(?:"
        + RECORD
        + r"[0-9.]{1,25} \(\S{1,80}\) iteration: (?P<step>\d{1,12})[^\n]*\n)?"
        + RECORD
        + r"(?P<timestamp>[0-9.]{1,25}) \(\S{1,80}\) total_ips: (?P<throughput>"
        + NUMBER
        + r")(?=[ \n]|$)"
    ),
    signature=r":::NVLOG[^\n]{1,200}?total_ips: \d",
    pair=True,
    start=("Starting Model Training",),
    end=("Average total_ips: ",),
    identify=_tensorflow_ngc.identify,
    notes=("Average total_ips: ",),
    note=note,
)
