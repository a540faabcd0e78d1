"""The lines of workloads/collectives: one for each collective operation, with its bus bandwidth.

The time at the end of a line is not read: a bus bandwidth is not samples of a batch over a time, so
nothing can be checked against a clock.
"""

from __future__ import annotations

from . import scalebench
from ._format import NUMBER, Format

FORMAT = Format(
    name="collective",
    source="workloads/collectives/definitions.py of this project",
    needles=(" MB/s busbw ",),
    observation=(
        r"[^\n]{0,120}?(?:all_reduce|all_gather|reduce_scatter|broadcast|sendrecv)"
        r" (?P<step>\d{1,12}) bytes \d{1,15} duration " + NUMBER + " us"
        " algbw " + NUMBER + " MB/s"
        " busbw (?P<throughput>" + NUMBER + ") (?P<unit>MB)/s"
        r" time [0-9.]{1,20}(?=\s|$)"
    ),
    signature=r"[a-z_]+ \d+ bytes \d+ duration \S+ us algbw",
    end=(scalebench.END,),
)
