"""The run records of a campaign: one file a repeat, written last and whole."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["attempts", "now", "write_record"]

_ATTEMPT = re.compile(r"\.attempt(\d+)\.json$")


def attempts(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the records of earlier attempts by the path of the log, oldest first.

    One that cannot be read is left out: it settles nothing.
    """
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for path in folder.glob("logs/**/*.attempt*.json"):
        number = _ATTEMPT.search(path.name)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            entry = {"ending": record["ending"], **record}
            if number:
                found.setdefault(record["log"], []).append((int(number.group(1)), entry))
        except (ValueError, KeyError, TypeError):
            continue
    return {log: [entry for _, entry in sorted(many, key=_first)] for log, many in found.items()}


def now() -> str:
    """Return the time, UTC, ISO 8601, to the microsecond: records are put in order by it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def write_record(folder: Path, record: dict[str, Any]) -> Path:
    """Write a run record beside its log, whole or not at all; return its path."""
    path = (folder / record["log"]).with_suffix(".run.json")
    part = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    os.replace(part, path)
    return path


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]
