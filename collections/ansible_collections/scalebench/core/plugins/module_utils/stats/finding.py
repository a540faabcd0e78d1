"""Whether a measured median differs from a published figure beyond noise, and beyond a margin."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence

from .median_ratio import ratio_of_medians, ratio_to_figure

__all__ = ["finding"]


def finding(
    runs: Sequence[float],
    published: Mapping[str, Any],
    figure: float,
    tolerance: float,
    level: float,
) -> Dict[str, Any]:
    """Return the interval of median(runs) / figure and what follows from it.

    :param runs: the measured repeats, in the unit of ``figure``.
    :param published: its row; ``runs`` by repeat if they are known, ``repeats``, ``statistic``.
    :param tolerance: half width of the margin of equivalence, as a share.
    :param level: of the interval.
    :returns: low and high of the ratio; ``beyond_noise``, whether 1 lies outside of them;
        ``finding``: equivalent when they lie within 1 +- tolerance, which is two one-sided tests at
        (1 - level) / 2 (Schuirmann 1987, https://doi.org/10.1007/BF01068419), faster or slower
        when they lie beyond it, else undecided; ``why``. Without an interval low, high and
        beyond_noise are None.
    :raises ValueError: a speed is no number above 0.
    """
    interval = _interval(runs, published, figure, level)
    low, high = interval["low"], interval["high"]
    if low is None:
        nothing = dict.fromkeys(("low", "high", "beyond_noise"))
        return {**nothing, "finding": "undecided", "why": f"no interval: {interval['reason']}"}
    found = "undecided"
    if low >= 1 - tolerance and high <= 1 + tolerance:
        found = "equivalent"
    elif low > 1 + tolerance:
        found = "faster"
    elif high < 1 - tolerance:
        found = "slower"
    return {
        "low": low,
        "high": high,
        "beyond_noise": not low <= 1 <= high,
        "finding": found,
        "why": f"interval {low:.4f} to {high:.4f} of the ratio at level {level:g}, margin"
        f" {tolerance:g}; {interval['basis']}",
    }


def _interval(
    runs: Sequence[float], published: Mapping[str, Any], figure: float, level: float
) -> Dict[str, Any]:
    """Return low, high and reason of the ratio, and in ``basis`` whose noise it knows."""
    if not runs:
        return {"low": None, "high": None, "reason": "the measured repeats are not known"}
    theirs = list((published.get("runs") or {}).values())
    if len(theirs) > 1:
        interval = ratio_of_medians(runs, theirs, level)
        return {**interval, "basis": "noise of the runs of both sides"}
    of = published.get("repeats") if published.get("statistic") == "median" else 1
    taken = f"a median of {of} runs" if of and of > 1 else "one run"
    basis = f"the published figure is taken for {taken} as noisy as the measured ones"
    return {**ratio_to_figure(runs, figure, of, level), "basis": basis}
