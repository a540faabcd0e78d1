"""What our own trainers print around the iterations, whatever form those have.

Source: workloads/resnet50/report_lines.py. Each trainer states its iterations in the form that its
framework's users know, which another reader reads; who it is and how it ended it says by these.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

__all__ = ["END", "START", "identify", "note"]

START = "[scalebench] header "
END = "[scalebench] end "
_RANK = "[scalebench] rank {"
_KEPT = frozenset(
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
        "xla",
        "batch_size_per_device",
        "global_batch_size",
        "image_size",
        "data",
        "data_backend",
        "warmup",
        "iterations",
        "mode",
        "epochs",
        "target_accuracy",
        "images_per_epoch",
        "threads_per_rank",
    }
)


def identify(head: str) -> Dict[str, Any]:
    """Return what the header line says and how many ranks said where they are.

    :param head: head of a run's text.
    :returns: the identity; empty if the head has no header line.
    """
    header = _json(head, START)
    found = {key: value for key, value in header.items() if key in _KEPT and value is not None}
    ranks = head.count(_RANK)
    if found and ranks:
        found["ranks_seen"] = ranks
    return found


def note(text: str, summary: Dict[str, Any]) -> None:
    """Keep what the end line says: iterations, seconds, peak memory in MiB, checksum of weights."""
    summary.update(_json(text, END))


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
