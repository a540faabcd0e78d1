"""Checks of the nodes by a diagnosis that was made of them, and who was left out."""

from __future__ import annotations

from typing import Any, Collection, Dict, List, Mapping

from ..diagnosis.exclusion import nodes_of, without
from ..diagnosis.suspects import UNDECIDED
from .verdict import FAIL, PASS, WARN, Nodes, Row, verdict

__all__ = ["diagnosis_checks"]

_CHECK = "diagnosis"
_SECONDS_A_DAY = 86400


def diagnosis_checks(nodes: Nodes, expected: Mapping[str, Any]) -> List[Row]:
    """Return the rows about a required diagnosis, and a warning for each node that is left out.

    A slow link or way out of a group fails its nodes where both of its ends take part.

    :param expected: optional ``diagnosis``: ``file`` and ``content`` (a diagnosis.json; None where
        there is none), ``now`` (seconds since 1970) and ``days`` that it may be old; ``excluded``:
        the nodes that were left out, and ``exclude``, by which words.
    """
    rows = [
        verdict(
            "exclude",
            name,
            WARN,
            f"left out of the campaign: -e exclude={expected.get('exclude')}",
            "mend the node, and leave exclude away",
        )
        for name in expected.get("excluded") or ()
    ]
    required = expected.get("diagnosis")
    if required:
        rows += [_of_node(name, required, nodes.keys()) for name in nodes]
    return rows


def _of_node(name: str, required: Mapping[str, Any], taking_part: Collection[str]) -> Row:
    file, content = required["file"], required["content"]
    again = "run playbooks/diagnose.yml, and name its diagnosis.json"
    try:
        if content is None:
            return verdict(_CHECK, name, FAIL, f"no file {file}", again)
        days = (float(required["now"]) - float(content["ended"])) / _SECONDS_A_DAY
        there, suspects = name in content["nodes"], _suspects(name, content, taking_part)
    except (KeyError, TypeError, ValueError, AttributeError):
        return verdict(_CHECK, name, FAIL, f"{file} is no diagnosis with a time", again)
    found = f"{max(days, 0.0):.1f} days old"
    if days > float(required["days"]):
        todo = f"at most {required['days']} are allowed (preflight_diagnosis_days): {again}"
        return verdict(_CHECK, name, FAIL, found, todo)
    if not there or content.get("verdict") == UNDECIDED:
        more = "measure more often (-e iterations=20), or while the nodes do nothing else"
        hidden = ("undecided: large deficits may hide in noise", f"{more}: {again}")
        found, todo = hidden if there else (f"not in {file}", f"diagnose it too: {again}")
        return verdict(_CHECK, name, FAIL, found, todo)
    if suspects:
        found = "; ".join(f"{one['what']}: {one['subject']}" for one in suspects)
        todo = f"mend it and diagnose again, or leave out: -e exclude={without(suspects, file)}"
        return verdict(_CHECK, name, FAIL, found, todo)
    return verdict(_CHECK, name, PASS, f"nothing slow, {found}")


def _suspects(
    name: str, content: Mapping[str, Any], taking_part: Collection[str]
) -> List[Dict[str, Any]]:
    """Return the suspects that slow down the node beside the others that take part."""
    found = []
    for one in content["suspects"]:
        named, sides = nodes_of(one, content)
        if name in named and all(side.intersection(taking_part) for side in sides):
            found.append(one)
    return found
