"""Whether a repeat that ended unwell is run again, by a policy that is data."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

__all__ = ["DEFAULTS", "RETRIABLE", "again", "check_policy", "hopeless"]

# Endings that another attempt may change. ok and skipped need none, unavailable would say the
# same, and interrupted is run again by a resume.
RETRIABLE = (
    "crashed",
    "stalled",
    "timeout",
    "launch_failed",
    "out_of_memory",
    "nan_loss",
    "invalid",
)
# What ends unwell by chance is tried once more; what follows from the cell itself is not.
DEFAULTS: Mapping[str, Any] = {
    "endings": ["crashed", "stalled", "timeout", "launch_failed"],
    "attempts": 2,
    "give_up_after": 5,
}


def again(history: Sequence[str], policy: Mapping[str, Any]) -> Tuple[bool, str]:
    """Return whether to run a repeat again in this session, and why.

    :param history: how the repeat's attempts ended, oldest first. Interrupted ones do not count.
    :param policy: a checked policy: ``endings`` that are retried, ``attempts`` in all.
    :raises ValueError: there was no attempt.
    """
    if not history:
        raise ValueError("no attempt yet: there is nothing to retry")
    ending, attempts = history[-1], policy["attempts"]
    made = sum(past != "interrupted" for past in history)
    if ending == "ok":
        return False, "ok"
    if ending == "interrupted":
        return False, "interrupted: a resume runs it again"
    if ending not in policy["endings"]:
        return False, f"{ending} is not retried"
    if made >= attempts:
        return False, f"{ending} in attempt {made} of {attempts}"
    return True, f"{ending}: attempt {made + 1} of {attempts} follows"


def hopeless(endings: Sequence[str], policy: Mapping[str, Any]) -> Optional[str]:
    """Return why nothing is to be retried any more, None while retrying makes sense.

    Ask it of the endings of all attempts of the campaign, and of those of one cell. It stops
    retrying, not running: the next ok ends it. Endings that are not retried are passed over, as a
    batch size that exhausts the memory says nothing of the health of the nodes.

    :param endings: of all attempts, oldest first.
    :param policy: a checked policy: so many as ``give_up_after`` in a row are hopeless.
    """
    row = []
    for ending in reversed(endings):
        if ending == "ok":
            break
        if ending in policy["endings"]:
            row.append(ending)
    if len(row) < policy["give_up_after"]:
        return None
    return f"{len(row)} attempts in a row failed, the last one {row[0]}"


def check_policy(given: Any) -> Dict[str, Any]:
    """Return the whole policy: what is given, and :data:`DEFAULTS` for the rest.

    :param given: any of ``endings`` (that are retried), ``attempts`` (of a repeat in one session,
        the first one counted) and ``give_up_after`` (failures in a row).
    :raises ValueError: an unknown key, or a value that is none of the choices.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"retry policy {given!r}: a mapping of {', '.join(DEFAULTS)} is needed")
    for key in given:
        if key not in DEFAULTS:
            raise ValueError(f"retry policy: no key {key!r}; the choices are {', '.join(DEFAULTS)}")
    policy = {**DEFAULTS, **given}
    endings = policy["endings"]
    if isinstance(endings, str) or not isinstance(endings, Sequence):
        raise ValueError(f"retry policy: endings {endings!r} is not a list")
    for ending in endings:
        if ending not in RETRIABLE:
            raise ValueError(
                f"retry policy: endings has {ending!r}; the choices are {', '.join(RETRIABLE)}"
            )
    for key in ("attempts", "give_up_after"):
        count = policy[key]
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"retry policy: {key} {count!r} is not a whole number from 1 up")
    return policy
