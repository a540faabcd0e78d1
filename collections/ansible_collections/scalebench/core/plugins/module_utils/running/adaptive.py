"""When a cell has enough repeats: their median is known well enough, or the maximum is reached."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import (
    median,
    median_interval,
)

__all__ = ["LEAST", "LEVEL", "check_rule", "enough"]

LEVEL = 0.95
# Fewer values have no interval of 95 % between two of them (``intervals.order_statistics``).
LEAST = 6


def check_rule(minimum: int, maximum: int, half_width: float) -> None:
    """Refuse a rule that cannot be meant; the parameters are those of :func:`enough`.

    :raises ValueError: a maximum below the minimum or below six, or a half-width not above 0.
    """
    if not half_width > 0:
        raise ValueError(f"half-width {half_width!r}: a share of the median above 0 is needed")
    if maximum < max(minimum, LEAST):
        raise ValueError(
            f"at most {maximum} repeats: {max(minimum, LEAST)} are needed, the minimum asked for"
            f" and the {LEAST} that an interval of {LEVEL:.0%} takes"
        )


def enough(
    speeds: Sequence[Optional[float]], minimum: int, maximum: int, half_width: float
) -> Dict[str, Any]:
    """Decide after each repeat whether a cell needs another one.

    It goes on until the 95 % interval of the median between two order statistics has the asked
    relative half-width, or the maximum is reached. Only the width counts, never the value: speeds
    that are all twice as high give the same answer, so it cannot stop at a favourable one.

    Looking after every repeat (optional stopping) costs an interval some of its coverage, since a
    sample that looks narrow by chance ends it. Simulated with normal and with skewed speeds of 3 %
    spread, at most 20 repeats and a half-width asked for of 0.5 to 1.5 standard deviations, 2000
    campaigns each: this interval covers the true median in 93 to 97 % at its end. That of a
    percentile bootstrap from 3 repeats on would in 73 to 80 %; hence this interval, and six
    repeats at least. The bootstrap of the repeats that this rule leaves covers in 92 to 94 %.
    Where hardly any sample can be so narrow (half-width of 0.5 standard deviations, 43 % stop
    before 20), those that stop cover in 84 %: ask for what the noise allows.

    :param speeds: of all attempts so far, in any one unit; None is one that failed. It counts
        towards the maximum and not to ``n``.
    :param minimum: repeats with a speed that are always run.
    :param maximum: attempts after which it ends in any case.
    :param half_width: as a share of the median, 0.01 for 1 %.
    :returns: ``enough``, ``n`` (repeats with a speed), ``half_width`` (share of the median, None
        where there is no interval yet), ``why`` for the report.
    :raises ValueError: see :func:`check_rule`.
    """
    check_rule(minimum, maximum, half_width)
    good = [speed for speed in speeds if speed is not None]
    reached = _half_width(good)
    why = f"{len(good)} repeats: " + ("no interval yet" if reached is None else f"±{reached:.2%}")
    why += f", asked for ±{half_width:.2%}"
    narrow = reached is not None and reached <= half_width
    done = narrow and len(good) >= minimum
    if not done and len(speeds) >= maximum:
        done, why = True, f"{why}; the maximum of {maximum} attempts is reached"
    return {"enough": done, "n": len(good), "half_width": reached, "why": why}


def _half_width(speeds: Sequence[float]) -> Optional[float]:
    """Return half the width of the median's interval as a share of the median."""
    if len(speeds) < LEAST:
        return None
    interval = median_interval(speeds, LEVEL, "order")
    return float(interval["high"] - interval["low"]) / 2 / median(speeds)
