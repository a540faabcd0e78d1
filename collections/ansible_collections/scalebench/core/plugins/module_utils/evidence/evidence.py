"""The fingerprint of a plan: one checksum over what was to be measured."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Mapping

__all__ = ["plan_sha256"]


def plan_sha256(plan: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a plan's options and cells, in hexadecimal.

    Estimates and the state of the nodes are no part of it: the same matrix on the same nodes has
    the same checksum, whenever and at whatever load it was planned.

    :param plan: as ``plan.build`` returns it; must be plain data.
    """
    cells = [
        {key: cell[key] for key in cell if key != "estimate_seconds"} for cell in plan["cells"]
    ]
    essence = {"options": plan["options"], "cells": cells}
    text = json.dumps(essence, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
