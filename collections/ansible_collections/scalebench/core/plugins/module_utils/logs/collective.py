"""The lines of workloads/collectives: one for each collective operation, with its bus bandwidth.

The time at the end of a line is not read: a bus bandwidth is not samples of a batch over a time, so
nothing can be checked against a clock.
"""

from __future__ import annotations

import re

from . import scalebench
from ._format import NUMBER, Format, number
from .nccl_tests import BUSBW_FACTORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

__all__ = ["FORMAT"]

_NAMES = "|".join(BUSBW_FACTORS)
_LINE = re.compile(
    rf"\b({_NAMES}) \d{{1,12}} bytes (\d{{1,15}}) duration {NUMBER} us"
    rf" algbw ({NUMBER}) MB/s busbw ({NUMBER}) MB/s"
)


def _note(text: str, summary: Dict[str, Any]) -> None:
    """Add what is moved at once, ``message``; empty where operations or sizes differ.

    ``busbw_factor`` is bus bandwidth over algorithm bandwidth of the fastest operation, ``algbw``:
    its digits tell it best.
    """
    for name, size, *printed in _LINE.findall(text):
        algorithm, bus = map(number, printed)
        if not algorithm or not bus or algorithm < 0 or bus < 0:
            continue
        own = {"collective": name, "bytes": int(size)}
        known = summary.setdefault("message", {**own, "algbw": 0.0})
        if {**known, **own} != known:
            summary["message"] = {}
        elif algorithm > known["algbw"]:
            known.update(algbw=algorithm, busbw_factor=bus / algorithm)


FORMAT = Format(
    name="collective",
    source="workloads/collectives/definitions.py of this project",
    needles=(" MB/s busbw ",),
    observation=(
        rf"[^\n]{{0,120}}?(?:{_NAMES}) (?P<step>\d{{1,12}}) bytes \d{{1,15}} duration {NUMBER} us"
        rf" algbw {NUMBER} MB/s busbw (?P<throughput>{NUMBER}) (?P<unit>MB)/s"
        r" time [0-9.]{1,20}(?=\s|$)"
    ),
    signature=r"[a-z_]+ \d+ bytes \d+ duration \S+ us algbw",
    end=(scalebench.END,),
    whole=True,
    notes=(" MB/s busbw ",),
    note=_note,
)
