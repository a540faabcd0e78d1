"""Reads results.json files of earlier campaigns, of any version, on the controller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from ansible_collections.scalebench.core.plugins.module_utils.results.versions import read

__all__ = ["read_results"]


def read_results(path: Path) -> dict[str, Any]:
    """Return the results in the current schema.

    :raises ValueError: the file cannot be read, or is no results.json; without the path.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError("it is no UTF-8 text") from None
    try:
        data = json.loads(text, parse_constant=_refused)
    except RecursionError:
        raise ValueError("it is no results.json: nested too deep") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    return read(data)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}, which is no JSON")
