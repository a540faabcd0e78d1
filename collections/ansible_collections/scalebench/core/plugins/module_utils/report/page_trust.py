"""How far the figures of a report can be trusted, from counts and spreads alone."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

__all__ = ["spreads", "trust"]

Cell = Mapping[str, Any]
# Repeats of an undisturbed training differ by 1 to 3 %; beyond this a small effect drowns.
_MUCH_SPREAD = 0.05
# With fewer the 95 % interval of the median spans all of them (see intervals.py).
_FEW_REPEATS = 5


def trust(results: Mapping[str, Any]) -> Dict[str, Any]:
    """Return ``level``, ``verdict`` and ``reasons``.

    ``level``: none (no speed at all), poor (a speed-up says nothing about scaling), care (something
    makes the figures less certain) or good.
    """
    counts, cells = results["counts"], results["cells"]
    if not counts["ok"]:
        reasons = [f"None of {counts['planned']} repeats gave a speed."]
        return {"level": "none", "verdict": "No result", "reasons": reasons}
    grave, light = _grave(cells), _light(results)
    if grave:
        return {"level": "poor", "verdict": "Not all of this is scaling", "reasons": grave + light}
    if light:
        return {"level": "care", "verdict": "Read with care", "reasons": light}
    said = ["Every repeat gave a speed, telemetry shows no disturbance, and the repeats agree."]
    return {"level": "good", "verdict": "Nothing speaks against these figures", "reasons": said}


def spreads(cells: Sequence[Cell]) -> List[float]:
    """Return the coefficients of variation that are known, a share each."""
    return [c["spread"]["cv"] for c in cells if c["spread"] and c["spread"]["cv"] is not None]


def _grave(cells: Sequence[Cell]) -> List[str]:
    """Name what makes a speed-up worthless."""
    crowded = [c for c in cells if c["oversubscribed"] and c["devices"] > 1]
    invalid = [c for c in cells if c["invalid"]]
    return [
        f"{_of(len(found), len(cells), 'cells')} {words}"
        for found, words in (
            (crowded, "had more CPU threads than cores (oversubscribed)."),
            (invalid, "had a speed-up that cannot be, and shows none."),
        )
        if found
    ]


def _light(results: Mapping[str, Any]) -> List[str]:
    """Name what makes the figures less certain."""
    counts, cells = results["counts"], results["cells"]
    without = counts["planned"] - counts["ok"]
    good = [r for c in cells for r in c["repeats"] if r["throughput"] is not None]
    disturbed = [r for r in good if r["disturbances"]]
    scattered = [spread for spread in spreads(cells) if spread > _MUCH_SPREAD]
    sizes = [c["spread"]["n"] for c in cells if c["spread"]]
    few = [size for size in sizes if size < _FEW_REPEATS]
    odd = [c for c in cells if c["warnings"]]
    small = f"have fewer than {_FEW_REPEATS} repeats, so the interval of the median spans them all."
    said = [
        f"{_of(some, of, what)} {words}"
        for some, of, what, words in (
            (without, counts["planned"], "repeats", "gave no speed."),
            (len(disturbed), len(good), "repeats", "were disturbed."),
            (len(scattered), len(sizes), "cells", f"scatter by more than {_MUCH_SPREAD:.0%} (cv)."),
            (len(odd), len(cells), "cells", "do not fit another one; the remarks name the first."),
            (len(few), len(sizes), "cells", small),
        )
        if some
    ]
    if not results["provenance"].get("nodes"):
        said.append("Nothing is recorded of the machines, so disturbances would not show.")
    return said


def _of(some: int, all_of_them: int, what: str) -> str:
    return f"{some} of {all_of_them} {what}"
