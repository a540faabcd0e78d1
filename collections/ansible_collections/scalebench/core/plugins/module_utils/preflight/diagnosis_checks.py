"""Checks of the nodes by a diagnosis that was made of them, and who was left out."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Collection, List, Mapping, Optional, Tuple

from ..diagnosis.exclusion import slowed, without
from ..diagnosis.kinds import KINDS
from ..diagnosis.suspects import UNDECIDED
from ..evidence.redaction import shown
from ..layout.plain_text import plain
from .verdict import FAIL, PASS, WARN, Nodes, Row, verdict

__all__ = ["diagnosis_checks"]

_CHECK = "diagnosis"
_SECONDS_A_DAY = 86400
_AGAIN = "run playbooks/diagnose.yml, and name its diagnosis.json"


def diagnosis_checks(nodes: Nodes, expected: Mapping[str, Any]) -> List[Row]:
    """Return the rows about a required diagnosis, and a warning for each node that is left out.

    A slow link or way out of a group fails its nodes where both of its ends take part.

    :param expected: optional ``diagnosis``: ``file`` and ``content`` (a diagnosis.json, or
        ``problem``, why there is none), ``now`` (seconds since 1970) and ``days`` that it may be
        old; ``excluded``: the nodes that were left out, and ``exclude``, by which words.
    """
    rows = [
        verdict(
            "exclude",
            name,
            WARN,
            f"left out of the campaign: -e exclude={expected.get('exclude')}",
            "repair the node, then omit -e exclude",
        )
        for name in expected.get("excluded") or ()
    ]
    required = expected.get("diagnosis")
    if required:
        # Once, and only where a node is suspected: it is the same for all.
        out = lru_cache(maxsize=None)(lambda: without(required["content"], required["file"]))
        rows += [_of_node(name, required, nodes.keys(), out) for name in nodes]
    return rows


def _of_node(
    name: str, required: Mapping[str, Any], taking_part: Collection[str], out: Callable[[], str]
) -> Row:
    try:
        age = float(required["now"]) - float(required["content"].get("ended", "nan"))
        days = age / _SECONDS_A_DAY
        failed = _failed(name, required, taking_part, days, out)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        failed = (f"{required['file']} is no diagnosis with a time", _AGAIN)
    if failed:
        return verdict(_CHECK, name, FAIL, *failed)
    return verdict(_CHECK, name, PASS, f"nothing slow, {max(days, 0.0):.1f} days old")


def _failed(
    name: str,
    required: Mapping[str, Any],
    taking_part: Collection[str],
    days: float,
    out: Callable[[], str],
) -> Optional[Tuple[str, str]]:
    """Return what is wrong with a node or with the diagnosis, and what to do; None for nothing."""
    file, content = required["file"], required["content"]
    if "problem" in content:
        return f"{file}: {content['problem']}", _AGAIN
    there = name in content["nodes"]
    suspects = [one for one in content["suspects"] if name in slowed(one, content, taking_part)]
    # One of a time to come would never be too old; clocks differ a little.
    if not days > -1:
        raise ValueError("no time, or one to come")
    if days > float(required["days"]):
        todo = f"at most {required['days']} are allowed (preflight_diagnosis_days): {_AGAIN}"
        return f"{days:.1f} days old", todo
    if not there:
        return f"not in {file}", f"diagnose it too: {_AGAIN}"
    if content.get("verdict") == UNDECIDED:
        more = "measure more often (-e iterations=20), or while the nodes do nothing else"
        return "undecided: large deficits may hide in noise", f"{more}: {_AGAIN}"
    if suspects:
        words = (f"{KINDS[one['kind']].what}: {one['subject']}" for one in suspects)
        todo = "mend it and diagnose again" + (out() and f", or leave out: -e exclude={out()}")
        return shown(plain("; ".join(words))), shown(plain(todo, longest=10_000))
    return None
