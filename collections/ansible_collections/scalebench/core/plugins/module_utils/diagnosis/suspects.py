"""From measured rates to suspects: slow devices, nodes, cables of a node, links and groups."""

from __future__ import annotations

import math
from statistics import median
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from .causes import table_of_pairs, tables_alone
from .effects import ALPHA, FALSE_ALARMS, Deficit, find
from .kinds import KINDS, LINK, LINK_SEPARATOR, NETWORK, NODE, pair_name
from .repeats import TOLERANCE

__all__ = ["MOST_SEEN", "SLOW", "SOUND", "UNDECIDED", "judge"]

# A cause that covers all pairs of this share of the nodes is not seen: half tell what is usual.
_MOST = 0.75
SLOW, SOUND, UNDECIDED = "slow", "sound", "undecided"
# Who would not have seen a deficit of so many percent cannot say that nothing is slow.
MOST_SEEN = 30.0


def judge(measured: Mapping[str, Any], groups: Mapping[str, Sequence[str]]) -> Dict[str, Any]:
    """Return ``verdict``, ``suspects``, ``seen``, ``unsure`` and ``comparisons`` of a measurement.

    The verdict is :data:`SLOW` with a suspect; without, :data:`UNDECIDED` where a deficit of more
    than :data:`MOST_SEEN` percent of some kind would not have been seen, else :data:`SOUND`.

    :param measured: ``nodes``; ``alone``, a list of ``test``, ``node``, ``device`` and ``rates``;
        ``pairs``, a list of ``nodes`` and ``rates``. The rates of a test, and those of the pairs,
        are of the same repeats in the same order, in any unit.
    :param groups: nodes by the name of an inventory group, such as those of a switch.
    :raises ValueError: fewer than three nodes, pairs or repeats, or a rate that is not above 0.
    """
    test, figures, causes, nodes = table_of_pairs(measured, groups)
    # What slows down every pair, or every pair of most nodes, is taken for what is usual.
    unseen = [
        name
        for name, covered in causes.items()
        if len(covered) == len(figures)
        or (len(covered) > 1 and sum(own <= covered for own in nodes) / len(nodes) >= _MOST)
    ]
    told = {name: covered for name, covered in causes.items() if name not in unseen}
    tables = [*tables_alone(measured), (test, figures, told, nodes)]
    comparisons = sum(len(causes) for _, _, causes, _ in tables)
    suspects: Dict[Tuple[str, str], Dict[str, Any]] = {}
    seen: Dict[str, float] = {}
    unsure: List[str] = []
    for test, figures, causes, nodes in tables:
        found = find(figures, causes, nodes, comparisons)
        for deficit in found.deficits:
            _add(suspects, test, deficit, measured["pairs"])
        unsure += [f"{test} {name}" for name in found.unsure]
        for name, share in found.seen.items():
            kind = name.partition(":")[0]
            seen[kind] = max(seen.get(kind, 0.0), round(100 * share, 1))
    with_pairs = {node for row in measured["pairs"] for node in row["nodes"]}
    if not with_pairs.issuperset(measured["nodes"]):
        # Whatever is wrong with the network of the others would not have been seen.
        seen[NETWORK] = 100.0
    if not {row["node"] for row in measured["alone"]}.issuperset(measured["nodes"]):
        seen[NODE] = 100.0
    hidden = any(share > MOST_SEEN for share in seen.values())
    return {
        "verdict": SLOW if suspects else UNDECIDED if hidden else SOUND,
        "suspects": list(suspects.values()),
        "unsure": unsure,
        "seen": seen,
        "comparisons": comparisons,
        "alpha": ALPHA,
        "false_alarms": FALSE_ALARMS,
        "unseen": [name.replace(":", " ") for name in unseen],
    }


def _add(
    suspects: Dict[Tuple[str, str], Dict[str, Any]],
    test: str,
    deficit: Deficit,
    pairs: Sequence[Mapping[str, Any]],
) -> None:
    """Add a deficit to its suspect.

    A node that is slow alone sends and receives as slowly too, with one peer more than with
    another: slow pairs of such a node are its own, if they are not clearly slower than itself. One
    slow pair while it is fast with all others is not.
    """
    kind, _, subject = deficit.name.partition(":")
    if kind in (NETWORK, LINK):
        for end in subject.split(LINK_SEPARATOR):
            node = suspects.get((NODE, end), {"deficits": []})
            own = max((one["high"] for one in node["deficits"]), default=0.0)
            if _percent(deficit.high) <= own and (
                kind == NETWORK or _slow_with_others(end, subject, pairs)
            ):
                test = f"{test} {subject}" if kind == LINK else test
                kind, subject = NODE, end
                break
    suspect = suspects.setdefault(
        (kind, subject),
        {
            "kind": kind,
            "subject": subject,
            "what": KINDS[kind].what,
            "action": KINDS[kind].action,
            "deficits": [],
        },
    )
    suspect["deficits"].append(
        {
            "test": test,
            "deficit": _percent(deficit.effect),
            "low": _percent(deficit.high),
            "high": _percent(deficit.low),
            "p": float(f"{deficit.p:.2g}"),
            "by_chance": float(f"{deficit.by_chance:.2g}"),
        }
    )


def _slow_with_others(node: str, link: str, pairs: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the other pairs of a node are slower than those without it."""
    rates: Dict[bool, List[float]] = {True: [], False: []}
    for row in pairs:
        if pair_name(row["nodes"]) != link:
            rates[node in row["nodes"]].append(median(row["rates"]))
    return all(rates.values()) and (
        median(rates[True]) < median(rates[False]) * math.exp(-TOLERANCE)
    )


def _percent(logarithm: float) -> float:
    return round(100 * (1 - math.exp(logarithm)), 1)
