"""How the log of a cell is read: as its benchmark says, or as the user does."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ..strategies import parameters_of

__all__ = ["AUTO", "log_rule"]

# The strategy that stands for the benchmark's own.
AUTO = "auto"
# A campaign of before benchmarks said something.
_USUAL: Mapping[str, Any] = {"reader": "auto", "strategy": "mean_after_warmup", "parameters": {}}


def log_rule(
    cell: Mapping[str, Any], strategy: str = AUTO, parameters: Optional[Mapping[str, Any]] = None
) -> Dict[str, Any]:
    """Return ``reader``, ``strategy`` and ``parameters`` for the logs of a cell.

    Warm-up and iterations are the cell's, unless the benchmark or the user says otherwise.

    :param strategy: what the user asks for.
    :param parameters: of the strategy; they stand over those of the benchmark.
    :raises ValueError: an unknown strategy.
    """
    planned = cell.get("reading") or _USUAL
    name = planned["strategy"] if strategy == AUTO else strategy
    known = parameters_of(name)
    own = {key: cell[key] for key in ("warmup", "iterations") if cell.get(key) and key in known}
    if name == planned["strategy"]:
        own.update(planned["parameters"])
    return {"reader": planned["reader"], "strategy": name, "parameters": {**own, **(parameters or {})}}
