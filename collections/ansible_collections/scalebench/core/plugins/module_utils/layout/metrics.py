"""Figures as a text file for Prometheus (format 0.0.4).

node_exporter's textfile collector reads it; it accepts no timestamps, hence none here. A missing
figure has no line: an alert must not take it for a zero.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence, Tuple

from .plain_text import plain

__all__ = ["Sample", "metric"]

# Labels, and the value or None.
Sample = Tuple[Mapping[str, Any], Any]


def metric(name: str, about: str, samples: Sequence[Sample]) -> str:
    """Return a gauge with its HELP and TYPE, nothing where it has no sample."""
    lines = [f"{name}{_braces(labels)} {value}" for labels, value in samples if value is not None]
    if not lines:
        return ""
    return "\n".join([f"# HELP {name} {about}", f"# TYPE {name} gauge", *lines, ""])


def _braces(labels: Mapping[str, Any]) -> str:
    """Return labels in braces, backslash and quote escaped; plain text has no line ends."""
    pairs = [
        '{}="{}"'.format(key, plain(value).replace("\\", r"\\").replace('"', r"\""))
        for key, value in labels.items()
    ]
    return f"{{{','.join(pairs)}}}" if pairs else ""
