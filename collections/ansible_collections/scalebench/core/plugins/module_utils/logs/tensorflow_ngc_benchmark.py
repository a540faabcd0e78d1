"""NVIDIA's TensorFlow 1 ResNet-50 in benchmark mode: ``total_ips`` of all devices."""

from __future__ import annotations

from . import _tensorflow_ngc
from ._dllogger import DLL, MARK
from ._format import NUMBER, Format

FORMAT = Format(
    name="tensorflow_ngc_benchmark",
    source="NVIDIA/DeepLearningExamples 99b1c898, TensorFlow/Classification/ConvNets, learnt from"
    " the logs of wanghuancoder/PerformanceReport@66245fd and PaddlePaddle/Perf",
    needles=("total_ips : ",),
    observation=(
        DLL + r"\((?P<epoch>\d{1,9}), (?P<step>\d{1,12})\) +"
        r"total_ips : (?P<throughput>" + NUMBER + r")(?=[ \n]|$)"
    ),
    signature=r"\) +(?:total_ips|train_throughput) : \d",
    mark=MARK,
    start=(" - PARAMETER arch : ",),
    end=(") train_throughput : ",),
    identify=_tensorflow_ngc.identify,
    notes=(") train_throughput : ",),
    note=_tensorflow_ngc.note,
)
