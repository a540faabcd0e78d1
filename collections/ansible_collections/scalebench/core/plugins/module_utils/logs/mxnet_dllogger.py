"""NVIDIA's MXNet ResNet-50 of 2020 and later: DLLogger, ``train.ips`` of all devices."""

from __future__ import annotations

from . import _mxnet
from ._dllogger import DLL, MARK, parameters, summarise, validations
from ._format import NUMBER, Format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict


def identify(head: str) -> Dict[str, Any]:
    """Return what the PARAMETER line says."""
    return _mxnet.settings(parameters(head), head)


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add the Summary record, the evaluations and the table."""
    summarise(text, summary)
    if "train.ips" in summary:
        summary["throughput_key"] = "train.ips"
    validations(text, summary)
    _mxnet.tables(text, summary)


FORMAT = Format(
    name="mxnet_dllogger",
    source="NVIDIA/DeepLearningExamples, MxNet/Classification/RN50v1.5, learnt from the logs of"
    " PaddlePaddle/Perf@6f36264 and @3b2ad78",
    needles=("train.ips : ",),
    observation=(
        DLL + r"Epoch: (?P<epoch>\d{1,9}) Iteration: (?P<step>\d{1,12}) +"
        r"(?:train\.loss : (?P<loss>" + NUMBER + r"))?[^\n]{0,120}?"
        r"train\.ips : (?P<throughput>" + NUMBER + r")(?=[ \n]|$)"
    ),
    signature=r"train\.ips : \d",
    mark=MARK,
    start=(" - PARAMETER arch : ",),
    end=(" - Summary: ",),
    identify=identify,
    notes=(" - Summary: ", "val.", *_mxnet.TABLES),
    note=note,
)
