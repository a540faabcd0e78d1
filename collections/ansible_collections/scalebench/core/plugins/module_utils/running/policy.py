"""How a campaign goes on after what happened: retries, requeueing, adaptive repeats, as data."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from . import retry

__all__ = ["policy"]

# Repeats of a cell at most, where only a half-width was asked for.
MOST_REPEATS = 20


def policy(options: Mapping[str, Any], given: Mapping[str, Any]) -> Dict[str, Any]:
    """Return what ``outstanding.outstanding`` goes by.

    :param options: the campaign's options; ``half_width`` (relative, of the median's interval)
        and ``max_repeats`` ask for adaptive repeats.
    :param given: ``retry`` (as of ``retry.check_policy``, what is absent has its default) and
        ``requeue`` (times).
    :raises ValueError: a wrong retry policy, or a maximum without a half-width.
    """
    half_width = options.get("half_width")
    if "max_repeats" in options and half_width is None:
        raise ValueError(
            f"-e max_repeats={options['max_repeats']}: it bounds adaptive repeats; ask for them"
            " with -e half_width=, or for so many repeats with -e repeats="
        )
    if given["requeue"] < 0:
        raise ValueError(f"campaign_requeue={given['requeue']}: it is below 0")
    return {
        "retry": retry.check_policy(given["retry"]),
        "requeue": given["requeue"],
        "packing": options.get("packing", "none"),
        "half_width": half_width,
        "max_repeats": options.get("max_repeats", MOST_REPEATS) if half_width else None,
    }
