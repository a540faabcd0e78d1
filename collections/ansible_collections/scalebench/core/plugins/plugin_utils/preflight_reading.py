"""Reads what the preflight of a campaign wrote, on the controller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["FILE", "read_preflight"]

FILE = "preflight.json"
_TOLD = ("fail", "warn")
_COLUMNS = ("check", "node", "verdict", "found", "todo")


def read_preflight(folder: Path) -> dict[str, Any] | None:
    """Return ``verdict``, ``summary``, ``counts`` and the ``rows`` of what was not well.

    None where the campaign had no preflight.

    :raises ValueError: the file is not what role preflight writes.
    """
    try:
        told = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return {
            "verdict": str(told["verdict"]),
            "summary": str(told["summary"]),
            "counts": {str(word): int(count) for word, count in told["counts"].items()},
            "rows": [
                {column: str(row[column]) for column in _COLUMNS}
                for row in told["rows"]
                if row["verdict"] in _TOLD
            ],
        }
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it cannot be read: {error}") from None
