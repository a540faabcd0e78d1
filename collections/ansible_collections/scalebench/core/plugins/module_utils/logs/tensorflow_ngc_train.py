"""NVIDIA's TensorFlow 1 ResNet-50 in train mode: ``imgs_per_sec`` of every step, all devices."""

from __future__ import annotations

from . import _tensorflow_ngc
from ._dllogger import DLL, MARK
from ._format import NUMBER, Format

FORMAT = Format(
    name="tensorflow_ngc_train",
    source="NVIDIA/DeepLearningExamples fed7ba99, TensorFlow/Classification/ConvNets, train hook",
    needles=("imgs_per_sec : ",),
    observation=(
        DLL + r"\((?P<epoch>\d{1,9}), (?P<step>\d{1,12})\) [^\n]{0,200}?"
        r"imgs_per_sec : (?P<throughput>" + NUMBER + ")"
        r"(?:[^\n]{0,200}?total_loss : (?P<loss>" + NUMBER + "))?"
    ),
    signature=r"imgs_per_sec : \d",
    mark=MARK,
    start=(" - PARAMETER arch : ",),
    end=("Ending Model Training", "train_throughput : ", "top1_accuracy : "),
    closes=False,
    identify=_tensorflow_ngc.identify,
    notes=(") train_throughput : ", "top1_accuracy : "),
    note=_tensorflow_ngc.note,
)
