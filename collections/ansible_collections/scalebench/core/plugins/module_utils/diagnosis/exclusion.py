"""Which nodes a suspect slows down, and which to leave out so that none takes part."""

from __future__ import annotations

from collections import Counter
from typing import Any, Collection, Dict, FrozenSet, List, Mapping, Sequence, TypedDict

from ..records.shape import check_shape
from .kinds import (
    FABRIC,
    GROUP_SEPARATOR,
    KINDS,
    LINK_SEPARATOR,
    OF_A_NODE,
    OF_GROUPS,
    OF_TWO_NODES,
    UPLINK,
)

__all__ = ["check_diagnosis", "slowed", "suspected", "to_exclude", "without"]

# A cluster with more has another problem; to_exclude takes quadratic time.
_MOST_SUSPECTS = 1000


class _Suspect(TypedDict, total=False):
    kind: str
    subject: str
    what: str


class _Diagnosis(TypedDict, total=False):
    ended: float
    verdict: str
    nodes: List[str]
    groups: Dict[str, List[str]]
    suspects: List[_Suspect]


def check_diagnosis(content: Any) -> None:
    """Refuse what is no content of a diagnosis.json.

    :raises ValueError: what is wrong.
    """
    needed = {_Diagnosis: ("suspects",), _Suspect: ("kind", "subject")}
    check_shape(content, _Diagnosis, "it", needed)
    if len(content["suspects"]) > _MOST_SUSPECTS:
        raise ValueError(f"it has more than {_MOST_SUSPECTS} suspects")
    for suspect in content["suspects"]:
        if suspect["kind"] not in KINDS:
            raise ValueError(f"it has a suspect of unknown kind {suspect['kind']!r:.80}")
        if not suspect["subject"].strip():
            raise ValueError("it has a suspect without a name")
        ends = suspect["subject"].count(LINK_SEPARATOR) + 1
        if KINDS[suspect["kind"]].of == OF_TWO_NODES and ends != 2:
            raise ValueError(f"it has a slow link with {ends} ends")


def to_exclude(suspects: Sequence[Mapping[str, Any]]) -> List[str]:
    """Return the nodes whose absence leaves no slow node, device, network of a node, or link.

    Of each slow link one end is left out: of all ends the one with the most slow links first, of
    equal ones the last by name. Slow groups and their ways out stay: that is no matter of a node.

    :raises KeyError: the kind of a suspect is none of ``kinds.KINDS``.
    """
    left_out: Dict[str, None] = {
        suspect["subject"].split()[0]: None
        for suspect in suspects
        if KINDS[suspect["kind"]].of == OF_A_NODE
    }
    every = [
        suspect["subject"].split(LINK_SEPARATOR)
        for suspect in suspects
        if KINDS[suspect["kind"]].of == OF_TWO_NODES
    ]
    while True:
        counts = Counter(end for ends in every if not left_out.keys() & set(ends) for end in ends)
        if not counts:
            return list(left_out)
        left_out[max(counts, key=lambda end: (counts[end], end))] = None


def without(diagnosis: Mapping[str, Any], file: str) -> str:
    """Return the value of ``-e exclude=`` that leaves the suspects out.

    It is the diagnosis' file, but where a group or its way out is slow: then :func:`suspected`.
    Empty where nobody would be left.

    :param diagnosis: its ``suspects``, and ``groups`` and ``nodes``.
    :raises KeyError: the kind of a suspect is none of ``kinds.KINDS``.
    """
    of_groups = any(KINDS[one["kind"]].of == OF_GROUPS for one in diagnosis["suspects"])
    return ",".join(suspected(diagnosis)) if of_groups else file


def suspected(diagnosis: Mapping[str, Any]) -> List[str]:
    """Return the nodes whose absence leaves no suspect; none where nobody would be left.

    They are those of :func:`to_exclude`, and those of one group of each group or way out that is
    slow; of the fabric those of all groups but one.

    :param diagnosis: as of :func:`without`.
    :raises KeyError: as :func:`without`.
    """
    of_groups = [one for one in diagnosis["suspects"] if KINDS[one["kind"]].of == OF_GROUPS]
    names: Dict[str, None] = {}
    # Those of the fabric last, so that the one that stays is none of those that go anyhow.
    for suspect in sorted(of_groups, key=lambda one: one["kind"] == FABRIC):
        groups = suspect["subject"].split(GROUP_SEPARATOR)
        if suspect["kind"] == FABRIC:
            stays = next((name for name in groups if name not in names), None)
            names.update(dict.fromkeys(name for name in groups if name != stays))
        elif not names.keys() & set(groups):
            names[groups[0]] = None
    known = diagnosis.get("groups") or {}
    nodes = dict.fromkeys(to_exclude(diagnosis["suspects"]))
    for name in names:
        nodes.update(dict.fromkeys(known.get(name, [name])))
    gone = nodes.keys() >= {*diagnosis.get("nodes", [""])}
    return [] if gone else list(nodes)


def slowed(
    suspect: Mapping[str, Any], diagnosis: Mapping[str, Any], taking_part: Collection[str]
) -> FrozenSet[str]:
    """Return the nodes that a suspect slows down, of those that take part in a campaign.

    It slows down nothing where no node of a side takes part: a link without one of its ends, a way
    out of a group without the nodes outside it, the fabric between groups with only one of them.
    Where a diagnosis does not know a group, its nodes may be any.

    :param suspect: ``kind`` and ``subject``, of ``suspects`` of a diagnosis.json.
    :param diagnosis: its ``nodes`` and ``groups``.
    :raises KeyError: one of these is missing, or the kind is none of ``kinds.KINDS``.
    """
    subject, of = suspect["subject"], KINDS[suspect["kind"]].of
    here = frozenset(taking_part)
    if of == OF_A_NODE:
        return here.intersection(subject.split()[:1])
    if of == OF_TWO_NODES:
        ends = frozenset(subject.split(LINK_SEPARATOR))
        return ends if ends <= here else frozenset()
    every = frozenset(diagnosis["nodes"])
    groups = diagnosis.get("groups") or {}
    inside = [frozenset(groups.get(name, every)) for name in subject.split(GROUP_SEPARATOR)]
    sides = inside[:1]
    if suspect["kind"] == FABRIC:
        sides = [group for group in inside if group & here]
        sides = sides if len(sides) > 1 else [frozenset()]
    elif suspect["kind"] == UPLINK and inside[0] < every:
        # All groups of an uplink have the same border.
        sides = [inside[0], every - inside[0]]
    if not all(side & here for side in sides):
        return frozenset()
    return here & frozenset().union(*inside)
