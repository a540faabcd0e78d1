"""The standard output of NVIDIA's DLLogger, for any framework.

Source: NVIDIA/dllogger, StdOutBackend: ``DLL <time> - <step> <metric> : <value> <unit> ...``.
"""

from __future__ import annotations

import re

from ._format import NUMBER, STAMP, add_metrics, evaluate, number
from ._stamp import moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

__all__ = ["DLL", "MARK", "metrics", "parameters", "summarise", "validations"]

MARK = "DLL 2"
DLL = r"[^\n]*?DLL (?P<timestamp>" + STAMP + r") - "
SUMMARY = r"DLL (" + STAMP + r") - (?:Summary: |\(\) | )([^\n]{1,2000})"
METRIC = r"([A-Za-z_][\w.]{0,60}) : (" + NUMBER + r")(?=[ \n]|$)"
VALIDATION = (
    r"DLL (" + STAMP + r") - Epoch: (\d{1,9}) +(?!Iteration)[^\n]{0,300}?"
    r"val\.(?:top1|accuracy) : (" + NUMBER + r")( %)?"
)


def parameters(head: str) -> Dict[str, str]:
    """Return the parameters of all ``PARAMETER`` lines, as text."""
    given: Dict[str, str] = {}
    for line in re.findall(r" - PARAMETER ([^\n]{1,20000})", head):
        for pair in re.split(r" (?=[\w.]{1,60} : )", line):
            key, colon, value = pair.partition(" : ")
            if colon:
                given[key.strip()] = value.strip()
    return given


def metrics(text: str) -> Dict[str, float]:
    """Return the finite numbers of one record by the names of their metrics."""
    printed = ((key, number(value)) for key, value in re.findall(METRIC, text))
    return {key: value for key, value in printed if value is not None}


def summarise(text: str, summary: Dict[str, Any]) -> None:
    """Add the metrics of records without a step, and the time of the last such record."""
    for stamp, record in re.findall(SUMMARY, text):
        totals = metrics(record)
        if totals and not record.startswith("PARAMETER"):
            add_metrics(summary, totals)
            summary["finished"] = moment(stamp)


def validations(text: str, summary: Dict[str, Any]) -> None:
    """Add the evaluations at the ends of epochs, in percent."""
    for stamp, epoch, accuracy, percent in re.findall(VALIDATION, text):
        value = number(accuracy)
        if value is not None:
            value = value if percent or value > 1 else value * 100
            evaluate(summary, value, int(epoch), moment(stamp))
