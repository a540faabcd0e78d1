"""The iterations of our own PyTorch trainer, one line each; ``_own`` reads what is around them."""

from __future__ import annotations

from . import _own
from ._format import NUMBER, Format

FORMAT = Format(
    name="scalebench",
    source="workloads/resnet50/report_lines.py of this project",
    needles=(" images/s step_time ",),
    observation=(
        r"[^\n]{0,120}?iteration (?P<step>\d{1,12}) epoch (?P<epoch>\d{1,9}) loss (?P<loss>"
        + NUMBER
        + ")"
        " throughput (?P<throughput>" + NUMBER + ") images/s"
        " step_time (?P<seconds>" + NUMBER + ") s time (?P<timestamp>[0-9.]{1,20})"
        r"(?=\s|$)"
    ),
    signature=r"\[scalebench\] (?:header|end) \{|iteration \d+ epoch \d+ loss \S+ throughput",
    end=(_own.END,),
)
