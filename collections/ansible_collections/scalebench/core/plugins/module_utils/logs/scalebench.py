"""The log of our own trainers (workloads/): a JSON header, one line an iteration, a JSON end."""

from __future__ import annotations

import json

from ._format import NUMBER, Format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

KEPT = frozenset(
    {
        "model",
        "parameters",
        "framework",
        "framework_version",
        "python",
        "world_size",
        "nodes",
        "devices_per_node",
        "device",
        "device_name",
        "backend",
        "precision",
        "autocast_dtype",
        "batch_size_per_device",
        "global_batch_size",
        "image_size",
        "data",
        "warmup",
        "iterations",
        "threads_per_rank",
    }
)


def identify(head: str) -> Dict[str, Any]:
    """Return what the header line says."""
    header = _json(head, "[scalebench] header ")
    found = {k: v for k, v in header.items() if k in KEPT and v is not None}
    ranks = head.count("[scalebench] rank {")
    if ranks:
        found["ranks_seen"] = ranks
    return found


def note(text: str, summary: Dict[str, Any]) -> None:
    """Keep what the end line says: iterations, seconds, peak memory in MiB, checksum of weights."""
    summary.update(_json(text, "[scalebench] end "))


def _json(text: str, words: str) -> Dict[str, Any]:
    """Return the JSON object after the last ``words``; empty if there is none."""
    at = text.rfind(words)
    if at < 0:
        return {}
    line = text[at + len(words) :].split("\n", 1)[0]
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


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
    start=("[scalebench] header ",),
    end=("[scalebench] end ",),
    identify=identify,
    notes=("[scalebench] end ",),
    note=note,
)
