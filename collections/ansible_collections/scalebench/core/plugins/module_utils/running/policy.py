"""The policy of a campaign: which repeats are retried, and when a cell has enough repeats."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple, TypedDict

from ..planning.options import duration_seconds
from ..records.endings import ending_names, says_nothing
from ..records.results import Adaptive
from ..stats.bisection import MOST_ROUNDS
from ..stats.statistics import median, median_interval

__all__ = [
    "MOST_REPEATS",
    "Policy",
    "RetryPolicy",
    "check_adaptive",
    "check_retry_policy",
    "default_retry_policy",
    "enough_repeats",
    "policy",
    "retries_are_hopeless",
    "should_retry",
]

# Repeats of a cell at most, where only a half-width was asked for.
MOST_REPEATS = 20
LEVEL = 0.95
# Fewer values have no interval of 95 % between two of them (``statistics.median_interval``).
LEAST = 6


class RetryPolicy(TypedDict):
    """``endings`` that are retried, ``attempts`` of a repeat in one session, the first included,
    and ``give_up_after`` so many failures in a row.
    """

    endings: List[str]
    attempts: int
    give_up_after: int


class Policy(TypedDict):
    """What ``outstanding.outstanding`` goes by.

    ``requeue``: how often a disturbed repeat runs again. ``packing``: one of ``options.PACKINGS``.
    ``half_width`` (a share of the median) and ``max_repeats`` are None without adaptive repeats,
    ``duration``, the seconds for which cells are repeated, where the number of repeats is fixed.
    ``bisect`` is the number of rounds of a step at most, None where no versions are bisected.
    """

    retry: RetryPolicy
    requeue: int
    packing: str
    half_width: Optional[float]
    max_repeats: Optional[int]
    duration: Optional[float]
    bisect: Optional[int]


def policy(options: Mapping[str, Any], given: Mapping[str, Any]) -> Policy:
    """Return the checked policy of a campaign.

    :param options: the campaign's options; ``half_width`` (relative, of the median's interval)
        and ``max_repeats`` ask for adaptive repeats.
    :param given: ``retry`` (see :func:`check_retry_policy`) and ``requeue``.
    :raises ValueError: a wrong retry policy, a maximum without a half-width, a duration with one.
    """
    half_width = options.get("half_width")
    if "max_repeats" in options and half_width is None:
        raise ValueError(
            f"-e max_repeats={options['max_repeats']}: it bounds adaptive repeats; ask for them"
            " with -e half_width=, or set a fixed number with -e repeats="
        )
    if "duration" in options and half_width is not None:
        raise ValueError(
            f"-e duration={options['duration']} and -e half_width={half_width}: give one of them,"
            " each decides when the repeats end"
        )
    if given["requeue"] < 0:
        raise ValueError(f"campaign_requeue={given['requeue']}: it is below 0")
    return {
        "retry": check_retry_policy(given["retry"]),
        "requeue": given["requeue"],
        "packing": options.get("packing", "none"),
        "half_width": half_width,
        "max_repeats": options.get("max_repeats", MOST_REPEATS) if half_width else None,
        "duration": duration_seconds(options["duration"]) if "duration" in options else None,
        "bisect": options.get("repeats", MOST_ROUNDS) if options.get("bisect") else None,
    }


def default_retry_policy() -> RetryPolicy:
    """Return the default: endings that may be chance are retried once."""
    return {"endings": list(ending_names(retried=True)), "attempts": 2, "give_up_after": 5}


def check_retry_policy(given: Any) -> RetryPolicy:
    """Return the whole retry policy: what is given, and the default for the rest.

    :param given: any keys of :class:`RetryPolicy`.
    :raises ValueError: an unknown key, or a value that is not one of the choices.
    """
    defaults, choices = default_retry_policy(), ending_names(retriable=True)
    if not isinstance(given, Mapping):
        raise ValueError(f"retry policy {given!r}: a mapping of {', '.join(defaults)} is needed")
    for key in given:
        if key not in defaults:
            raise ValueError(f"retry policy: no key {key!r}; the choices are {', '.join(defaults)}")
    endings = given.get("endings", defaults["endings"])
    if isinstance(endings, str) or not isinstance(endings, Sequence):
        raise ValueError(f"retry policy: endings {endings!r} is not a list")
    for ending in endings:
        if ending not in choices:
            raise ValueError(
                f"retry policy: endings has {ending!r}; the choices are {', '.join(choices)}"
            )
    for key in ("attempts", "give_up_after"):
        count = given.get(key, 1)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"retry policy: {key} {count!r} is not a whole number from 1 up")
    return {
        "endings": list(endings),
        "attempts": given.get("attempts", defaults["attempts"]),
        "give_up_after": given.get("give_up_after", defaults["give_up_after"]),
    }


def should_retry(history: Sequence[str], retry: RetryPolicy) -> Tuple[bool, str]:
    """Return whether to run a repeat again in this session, and why.

    :param history: how the repeat's attempts ended, oldest first. Interrupted ones do not count,
        nor those that were not started.
    :raises ValueError: there was no attempt.
    """
    if not history:
        raise ValueError("no attempt yet: there is nothing to retry")
    ending, most = history[-1], retry["attempts"]
    made = sum(not says_nothing(past) for past in history)
    if ending == "ok":
        return False, "ok"
    if ending in ending_names(cut_short=True):
        return False, f"{ending}: a resume runs it again"
    if ending not in retry["endings"]:
        return False, f"{ending} is not retried"
    if made >= most:
        return False, f"{ending} in attempt {made} of {most}"
    return True, f"{ending}: attempt {made + 1} of {most} follows"


def retries_are_hopeless(endings: Sequence[str], retry: RetryPolicy) -> Optional[str]:
    """Return why nothing is to be retried any more, None while retrying makes sense.

    Call it with the endings of all attempts of the campaign, and with those of one cell. It stops
    retries, not first attempts: the next ok ends it. Endings that are not retried are ignored, as
    a batch size that exhausts the memory says nothing about the health of the nodes.

    :param endings: of all attempts, oldest first.
    """
    row = []
    for ending in reversed(endings):
        if ending == "ok":
            break
        if ending in retry["endings"]:
            row.append(ending)
    if len(row) < retry["give_up_after"]:
        return None
    return f"{len(row)} attempts in a row failed, the last one {row[0]}"


def check_adaptive(minimum: int, maximum: int, half_width: float) -> None:
    """Refuse an impossible rule; the parameters are those of :func:`enough_repeats`.

    :raises ValueError: a maximum below the minimum or below six, or a half-width not above 0.
    """
    if not half_width > 0:
        raise ValueError(f"half-width {half_width!r}: a share of the median above 0 is needed")
    if maximum < max(minimum, LEAST):
        raise ValueError(
            f"at most {maximum} repeats: {max(minimum, LEAST)} are needed, for the given minimum"
            f" and the {LEAST} that an interval of {LEVEL:.0%} requires"
        )


def enough_repeats(
    speeds: Sequence[Optional[float]], minimum: int, maximum: int, half_width: float
) -> Adaptive:
    """Decide after each repeat whether a cell needs another one.

    It goes on until the 95 % interval of the median between two order statistics has the asked
    relative half-width, or the maximum is reached. Only the width counts, never the value: speeds
    that are all twice as high give the same answer, so it cannot stop at a favourable one.

    Looking after every repeat (optional stopping) costs an interval some of its coverage, since a
    sample that looks narrow by chance ends it. Simulated with normal and with skewed speeds of 3 %
    spread, at most 20 repeats and a half-width asked for of 0.5 to 1.5 standard deviations, 2000
    campaigns each: this interval covers the true median in 93 to 97 % at its end, where 95 to
    98 % are stated for a number of repeats that is fixed.
    Where hardly any sample can be so narrow (half-width of 0.5 standard deviations, 43 % stop
    before 20), those that stop cover in 84 %: ask for what the noise allows.

    :param speeds: of all attempts so far, in any one unit; None is one that failed. It counts
        towards the maximum and not to ``n``.
    :param minimum: repeats with a speed that are always run.
    :param maximum: attempts after which it ends in any case.
    :param half_width: as a share of the median, 0.01 for 1 %.
    :raises ValueError: see :func:`check_adaptive`.
    """
    check_adaptive(minimum, maximum, half_width)
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
    interval = median_interval(speeds, LEVEL)
    return float(interval["high"] - interval["low"]) / 2 / median(speeds)
