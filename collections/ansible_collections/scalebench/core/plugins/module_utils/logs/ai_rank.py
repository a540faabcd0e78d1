"""The lines of AI-Rank, in logs of any framework: evaluations, times, average images/s."""

from __future__ import annotations

import re

from ._format import NUMBER, Format, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    from ._columns import Observations

__all__ = ["FORMAT", "WORDS", "in_percent", "note"]

WORDS = "AI-Rank-log "
RECORD = r"AI-Rank-log (\d{9,11}(?:\.\d{1,9})?) ([^\n]{1,300})"
# Key of the summary by printed name; in s, s, images/s.
TOTALS = {
    "target_quality_time": "time_to_train",
    "total_use_time": "total_time",
    "avg_ips": "avg_ips",
}


def note(text: str, summary: Dict[str, Any]) -> None:
    """Add evaluations (accuracy as printed, see :func:`in_percent`), start, end and totals."""
    for stamp, words in re.findall(RECORD, text):
        when = float(stamp)
        name, _colon, value = words.partition(":")
        if name in ("test_begin", "test_begin\r"):
            summary.setdefault("started", when)
        if name.startswith("test_finish"):
            summary["finished"] = when
        digits = re.match(r"\s*([0-9.]{1,30})", value)
        amount = number(digits.group(1)) if digits else None
        if amount is None:
            continue
        if name == "eval_accuracy":
            epoch = re.search(r"total_epoch_cnt: ?(\d{1,9})", value)
            row = {
                "epoch": int(epoch.group(1)) if epoch else None,
                "timestamp": when,
                "accuracy": amount,
            }
            summary.setdefault("evaluations", []).append(row)
        elif name in TOTALS:
            summary[TOTALS[name]] = amount


def in_percent(summary: Dict[str, Any]) -> None:
    """Convert fractions into percent: a log without an accuracy above 1 prints fractions."""
    done = summary.get("evaluations", [])
    if done and max(row["accuracy"] for row in done) <= 1:
        for row in done:
            # Rounded to the printed precision: 0.29 is 29 %, not a little less.
            row["accuracy"] = round(row["accuracy"] * 100, 9)


def finish(run: Dict[str, Any], _observations: Observations) -> None:
    """Make the average the throughput of the summary."""
    if "avg_ips" in run["summary"]:
        run["summary"]["throughput_key"] = "avg_ips"


FORMAT = Format(
    name="ai_rank",
    unit="images/s",
    source="AI-Rank/AI-Rank docs (form of the training logs) and the lines of its TSM logs",
    needles=("eval_accuracy:",),
    observation=(
        r"[^\n]*?AI-Rank-log (?P<timestamp>\d{9,11}(?:\.\d{1,9})?) eval_accuracy:"
        r" ?(?P<accuracy>" + NUMBER + r")(?:, total_epoch_cnt: ?(?P<epoch>\d{1,9}))?"
    ),
    signature=r"AI-Rank-log \d{9,11}(?:\.\d+)? (?:test_begin|eval_accuracy|avg_ips|t\w+_time)",
    whole=True,
    # A framework's own lines in the same log have precedence.
    fallback=True,
    end=("target_quality_time:", "total_use_time:", "test_finish", "test_end"),
    finish=finish,
)
