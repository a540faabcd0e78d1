"""NVIDIA's MXNet ResNet-50, of all devices: DLLogger's ``train.ips``, or the Speedometer callback.

With Speedometer every rank prints the speed of all devices. Both print the same settings, and some
a table of throughputs at the end.
"""

from __future__ import annotations

import re
from math import isfinite

from ._dllogger import DLL, MARK, parameters, summarise, validations
from ._format import LEAD, NUMBER, STAMP, Format, counts, evaluate, number, precision, truth
from ._stamp import moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping

    from ._columns import Observations

__all__ = ["DLLOGGER", "SPEEDOMETER"]

VALIDATION = (
    r"(?:(" + STAMP + r"):\w{1,8}: )?Epoch\[(\d{1,9})\] +"
    r"Validation(?:-accuracy=| accuracy {1,30}: )([01](?:\.\d{1,20})?)(?![\d.])"
)
TABLES = ("train.total_ips\n", "train.ips\n")
TABLE = (
    r"(?m)"
    r"^train\.(?:total_)?ips[ \t]*\n[ \t]*\|([^\n]{1,500})\n-{3,}[^\n]*\n"
    r"((?:[ \t]*\d{1,6}[ \t]*\|[^\n]{1,500}\n)+)"
)


def _settings(given: Mapping[str, str], head: str) -> Dict[str, Any]:
    """Return the settings in the printed arguments; ``batch_size`` is of all devices.

    With Horovod ``gpus`` lists those of one node, or a default, so that the launcher's rank
    prefixes count.
    """
    settings: Dict[str, Any] = {"framework": "mxnet"}
    if "arch" in given:
        layers = given.get("num_layers", "")
        settings["model"] = given["arch"] + (f"-{layers}" if layers.isdigit() else "")
    if "dtype" in given:
        settings["precision"] = precision(truth(given.get("amp", "")), given["dtype"])
    settings.update(counts(given, global_batch_size="batch_size", steps_per_line="disp_batches"))
    devices = len(re.findall(r"\d{1,6}", given.get("gpus", "")))
    ranks = 1 + max(map(int, re.findall(r"\[(?:\d{1,9},)?(\d{1,9})\]<std", head)), default=-1)
    count = ranks if given.get("kv_store") == "horovod" else max(devices, ranks)
    if devices and count:
        _divide(settings, count)
    if "data_backend" in given:
        backend = given["data_backend"]
        # "mxnet" is the framework's own reader of RecordIO.
        named = {"mxnet": "recordio"}.get(backend, "native")
        settings["data_backend"] = "dali" if backend.startswith("dali") else named
        settings["data"] = "synthetic" if backend.startswith("syn") else "real"
    size = re.findall(r"\d{1,6}", given.get("image_shape", ""))
    if size:
        settings["image_size"] = int(size[-1])
    return settings


def _divide(settings: Dict[str, Any], devices: int) -> None:
    settings["world_size"] = devices
    if "global_batch_size" in settings:
        settings["batch_size_per_device"] = settings["global_batch_size"] // devices


def finish(run: Dict[str, Any], observations: Observations) -> None:
    """Count the ranks of the observations too: the settings' part of the log may lack some."""
    column = observations.column("rank")
    ranks = column[run["first"] : run["first"] + run["count"]] if column is not None else ()
    seen = 1 + int(max(filter(isfinite, ranks), default=-1))
    if seen > run["identity"].get("world_size", seen):
        _divide(run["identity"], seen)


def _own(head: str, end: str) -> str:
    """Return the text up to the end of the run: ranks of the next one may start before its first.

    Only the first rank's start begins a run, see ``_engine``.
    """
    return head[: head.find(end)] if end in head else head


def _tables(text: str, summary: Dict[str, Any]) -> None:
    """Add the throughput table: ``{devices: {batch size per device: images/s or None}}``."""
    for columns, rows in re.findall(TABLE, text):
        sizes = [size.strip() for size in columns.split("|") if size.strip()]
        table: Dict[str, Any] = {}
        for row in rows.splitlines():
            devices, *cells = (cell.strip() for cell in row.rstrip("| \t").split("|"))
            table[devices] = {size: number(cell) for size, cell in zip(sizes, cells)}
        summary["table"] = table


def _dllogger_identify(head: str) -> Dict[str, Any]:
    """Return the settings of the PARAMETER line."""
    head = _own(head, " - Summary: ")
    return _settings(parameters(head), head)


def _dllogger_note(text: str, summary: Dict[str, Any]) -> None:
    """Add the Summary record, the evaluations and the table."""
    summarise(text, summary)
    if "train.ips" in summary:
        summary["throughput_key"] = "train.ips"
    validations(text, summary)
    _tables(text, summary)


DLLOGGER = Format(
    name="mxnet_dllogger",
    unit="images/s",
    source="NVIDIA/DeepLearningExamples, MxNet/Classification/RN50v1.5, learnt from the logs of"
    " PaddlePaddle/Perf@6f36264 and @3b2ad78",
    needles=("train.ips : ",),
    observation=(
        DLL + r"Epoch: (?P<epoch>\d{1,9}) Iteration: (?P<step>\d{1,12}) +"
        r"(?:train\.loss : (?P<loss>" + NUMBER + r"))?[^\n]{0,120}?"
        r"train\.ips : (?P<throughput>" + NUMBER + r")(?=[ \n]|$)"
    ),
    signature=r"train\.ips : \d",
    spans=True,
    mark=MARK,
    start=(" - PARAMETER arch : ",),
    end=(" - Summary: ",),
    identify=_dllogger_identify,
    notes=(" - Summary: ", "val.", *TABLES),
    note=_dllogger_note,
    finish=finish,
)


def _speedometer_identify(head: str) -> Dict[str, Any]:
    """Return the settings of the line "Start with arguments Namespace(...)"."""
    head = _own(head, "Experiment took: ")
    lines = [line for line in head.split("\n") if "Namespace(" in line]
    given = lines[-1].partition("Namespace(")[2].rpartition(")")[0] if lines else ""
    pairs = re.findall(r"(\w{1,60})=('[^']*'|\[[^\]]*\]|[^,]*)", given[:20_000])
    return _settings({key: value.strip("'") for key, value in pairs}, head)


def _speedometer_note(text: str, summary: Dict[str, Any]) -> None:
    """Add the duration of the experiment in s, the evaluations and the table."""
    for seconds in map(number, re.findall(r"Experiment took: (" + NUMBER + ") sec", text)):
        if seconds is not None:
            summary["total_time"] = seconds
    for stamp, epoch, value in re.findall(VALIDATION, text):
        evaluate(summary, float(value) * 100, int(epoch), moment(stamp) if stamp else None)
    _tables(text, summary)


SPEEDOMETER = Format(
    name="mxnet_speedometer",
    unit="images/s",
    source="apache/mxnet python/mxnet/callback.py; NVIDIA/DeepLearningExamples 99b1c898 MxNet "
    " fit.py, and the logs of wanghuancoder/PerformanceReport@66245fd; horovod/horovod"
    " examples/mxnet_imagenet_resnet50.py, without the space after Batch",
    needles=("Speed: ",),
    observation=(
        LEAD + r"Epoch\[(?P<epoch>\d{1,9})\] +Batch *\[(?:\d{1,12}-)?(?P<step>\d{1,12})\]\s{1,4}"
        r"Speed: (?P<throughput>" + NUMBER + ") samples/sec"
        r"(?:\tLR: [^\t\n]{1,32})?(?:\tloss: (?P<loss_2>" + NUMBER + "))?"
        r"(?:\s{1,4}accuracy(?:=|: )(?P<accuracy>" + NUMBER + "))?"
        r"(?:\tloss=(?P<loss>" + NUMBER + "))?"
    ),
    signature=r"Epoch\[\d+\] +Batch *\[[\d-]+\]\s{1,4}Speed: \d",
    spans=True,
    start=("Start with arguments Namespace(",),
    end=("Experiment took: ",),
    closes=False,
    identify=_speedometer_identify,
    notes=("Experiment took: ", "Validation-accuracy=", "Validation accuracy ", *TABLES),
    note=_speedometer_note,
    finish=finish,
)
