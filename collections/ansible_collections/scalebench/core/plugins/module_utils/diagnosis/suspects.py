"""From measured rates to suspects: slow devices, nodes, cables of a node, links and groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Dict, FrozenSet, List, Mapping, Sequence, Tuple

from .effects import ALPHA, FALSE_ALARMS, Deficit, find
from .repeats import TOLERANCE, undisturbed

__all__ = [
    "FABRIC",
    "GROUP_SEPARATOR",
    "KINDS",
    "LINK_SEPARATOR",
    "MOST_SEEN",
    "OF_A_NODE",
    "OF_GROUPS",
    "OF_TWO_NODES",
    "SLOW",
    "SOUND",
    "UNDECIDED",
    "judge",
    "pair_name",
]


# What a suspect can be a part of; its subject begins with the name of the node, or names two nodes
# or groups, with LINK_SEPARATOR or GROUP_SEPARATOR between them.
OF_A_NODE, OF_TWO_NODES, OF_GROUPS = "a node", "two nodes", "groups"
# What all groups have in common: the switches above theirs.
FABRIC = "fabric"


@dataclass(frozen=True)
class Kind:
    """What a suspect of a kind is, what it is a part of, and what to do about it."""

    what: str
    of: str
    action: str


KINDS: Dict[str, Kind] = {
    "node": Kind(
        "slow node",
        OF_A_NODE,
        "look on it for another process (top, nvidia-smi), a CPU quota (cpu.max of its cgroup) and"
        " throttling (clocks and temperature: turbostat, nvidia-smi -q -d PERFORMANCE)",
    ),
    "device": Kind(
        "slow device",
        OF_A_NODE,
        "read its throttle reasons, ECC errors and PCIe width (nvidia-smi -q), and look for another"
        " process on it",
    ),
    "network": Kind(
        "slow network of a node",
        OF_A_NODE,
        "all of its pairs are slow and it computes as fast as the others: check the cable, the"
        " negotiated rate and the error counters of its port (ethtool, ethtool -S, perfquery), and"
        " traffic of others",
    ),
    "link": Kind(
        "slow link",
        OF_TWO_NODES,
        "only this pair is slow, and both nodes are not slow with others: check the route and the"
        " switch ports between them (traceroute, counters of the switch)",
    ),
    "uplink": Kind(
        "slow way out of a group",
        OF_GROUPS,
        "pairs across its border are slow, those inside it are not: check the uplinks of its switch"
        " and their counters",
    ),
    "group": Kind(
        "slow group",
        OF_GROUPS,
        "every pair with a node of the group is slow: check the switch that they share",
    ),
    FABRIC: Kind(
        "slow between groups",
        OF_GROUPS,
        "pairs of different groups are slow, whichever these are: compare with the rate that the"
        " fabric above their switches is built for, and check its switches and their routing",
    ),
}
PAIRS = "pair_transfer"
MEAN = "mean of the tests"
# The median of fewer is moved by one disturbance: of 16 diagnoses of sound nodes with one repeat
# each, two named a link.
LEAST_REPEATS = 3
# A cause that covers all pairs of this share of the nodes is not seen: half tell what is usual.
_MOST = 0.75
# What so many figures have in common in a repeat is no noise of theirs.
_COMMON = 4
LINK_SEPARATOR, GROUP_SEPARATOR = " - ", " and "
SLOW, SOUND, UNDECIDED = "slow", "sound", "undecided"
# Who would not have seen a deficit of so many percent cannot say that nothing is slow.
MOST_SEEN = 30.0
Causes = Dict[str, FrozenSet[str]]
# A test, its figures, their causes, and the figures of each node.
Table = Tuple[str, Dict[str, List[float]], Causes, List[FrozenSet[str]]]


def pair_name(nodes: Sequence[str]) -> str:
    """Return the name of a pair, the same in both directions."""
    return LINK_SEPARATOR.join(sorted(nodes))


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
    test, figures, causes, nodes = _pair_table(measured, groups)
    # What slows down every pair, or every pair of most nodes, is taken for what is usual.
    unseen = [
        name
        for name, covered in causes.items()
        if len(covered) == len(figures)
        or (len(covered) > 1 and sum(own <= covered for own in nodes) / len(nodes) >= _MOST)
    ]
    told = {name: covered for name, covered in causes.items() if name not in unseen}
    tables = [*_alone_tables(measured), (test, figures, told, nodes)]
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
        seen["network"] = 100.0
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


def _logarithms(rows: Sequence[Tuple[str, Sequence[float]]]) -> Dict[str, List[float]]:
    """Return the logarithms of rates without what a whole repeat has in common."""
    for name, rates in rows:
        if not rates or not all(rate > 0 and math.isfinite(rate) for rate in rates):
            raise ValueError(f"{name}: the rates {list(rates)!r} are not numbers above 0")
        if len(rates) < LEAST_REPEATS:
            raise ValueError(
                f"{name}: measured {len(rates)} times, and one disturbance would make it a suspect:"
                f" measure at least {LEAST_REPEATS} times (-e iterations={LEAST_REPEATS})"
            )
    figures = {name: [math.log(rate) for rate in rates] for name, rates in rows}
    lengths = [len(values) for values in figures.values()]
    every, most = min(lengths, default=0), max(lengths, default=0)
    # Without the figures' own levels: else a repeat's median would wander between slow and usual.
    own = {name: median(values[:every]) for name, values in figures.items()}
    common = []
    for number in range(most):
        # Of what was measured again not all have a repeat: a median of few is their own noise.
        found = [one[number] - own[name] for name, one in figures.items() if number < len(one)]
        common.append(median(found) if number < every or len(found) >= _COMMON else 0.0)
    return {
        name: [value - shift for value, shift in zip(values, common)]
        for name, values in figures.items()
    }


def _alone_tables(measured: Mapping[str, Any]) -> List[Table]:
    """Return a table of each test, and of their mean: what slows all tests is clearer there."""
    figures: Dict[str, Dict[str, List[float]]] = {}
    ends: Dict[str, str] = {}
    for test in sorted({row["test"] for row in measured["alone"]}):
        rows = [row for row in measured["alone"] if row["test"] == test]
        ends.update({f"{row['node']} {row['device']}": row["node"] for row in rows})
        named = [(f"{row['node']} {row['device']}", row["rates"]) for row in rows]
        figures[test] = _logarithms(named)
    tests = list(figures.values())
    if len(tests) > 1 and all(one.keys() == tests[0].keys() for one in tests):
        # One of several tests is disturbed in several times as many repeats.
        steady = [undisturbed(one) for one in tests]
        figures[MEAN] = {
            name: [fmean(repeat) for repeat in zip(*(one[name] for one in steady))]
            for name in tests[0]
        }
    tables: List[Table] = []
    for test, found in figures.items():
        causes: Causes = {}
        nodes: List[FrozenSet[str]] = []
        for node in measured["nodes"]:
            own = frozenset(name for name in found if ends[name] == node)
            if own:
                nodes.append(own)
                causes[f"node:{node}"] = own
            if len(own) > 1:
                causes.update({f"device:{one}": frozenset({one}) for one in own})
        tables.append((test, found, causes, nodes))
    return tables


def _pair_table(measured: Mapping[str, Any], groups: Mapping[str, Sequence[str]]) -> Table:
    pairs = {pair_name(row["nodes"]): frozenset(row["nodes"]) for row in measured["pairs"]}
    own = {
        node: frozenset(name for name, ends in pairs.items() if node in ends)
        for node in measured["nodes"]
    }
    causes = {f"network:{node}": names for node, names in own.items()}
    causes.update({f"link:{name}": frozenset({name}) for name in pairs})
    for group in sorted(groups):
        inside = {name: len(ends.intersection(groups[group])) for name, ends in pairs.items()}
        # First the group: an uplink is told from it only where pairs inside were measured.
        causes[f"group:{group}"] = frozenset(name for name, ends in inside.items() if ends)
        causes[f"uplink:{group}"] = frozenset(name for name, ends in inside.items() if ends == 1)
    racks = _racks(groups)
    rack_of = {node: name for name, nodes in racks.items() for node in nodes}
    if len(racks) > 2:
        across = {
            name
            for name, ends in pairs.items()
            if ends <= rack_of.keys() and len({rack_of[end] for end in ends}) == 2
        }
        causes[f"{FABRIC}:{GROUP_SEPARATOR.join(racks)}"] = frozenset(across)
    rows = [(pair_name(row["nodes"]), row["rates"]) for row in measured["pairs"]]
    return PAIRS, _logarithms(rows), _distinct(causes), [one for one in own.values() if one]


def _racks(groups: Mapping[str, Sequence[str]]) -> Dict[str, FrozenSet[str]]:
    """Return the groups that contain no other, if they share no nodes; else none."""
    every = {frozenset(groups[name]): name for name in sorted(groups, reverse=True)}
    inner = {
        name: nodes for nodes, name in every.items() if not any(other < nodes for other in every)
    }
    apart = sum(map(len, inner.values())) == len(frozenset().union(*inner.values()))
    return {name: inner[name] for name in sorted(inner)} if apart else {}


def _distinct(causes: Mapping[str, FrozenSet[str]]) -> Dict[str, FrozenSet[str]]:
    """Return the causes that cover something; of those that cover the same, one with all names.

    Two groups that share all nodes have the same way out. A cause of another kind keeps the name
    of the first: a group of one node is that node.
    """
    names: Dict[FrozenSet[str], str] = {}
    for name, covered in causes.items():
        kind, _, subject = name.partition(":")
        if covered in names and names[covered].partition(":")[0] == kind:
            names[covered] += GROUP_SEPARATOR + subject
        elif covered:
            names.setdefault(covered, name)
    return {name: covered for covered, name in names.items()}


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
    if kind in ("network", "link"):
        for end in subject.split(LINK_SEPARATOR):
            node = suspects.get(("node", end), {"deficits": []})
            own = max((one["high"] for one in node["deficits"]), default=0.0)
            if _percent(deficit.high) <= own and (
                kind == "network" or _slow_with_others(end, subject, pairs)
            ):
                test = f"{test} {subject}" if kind == "link" else test
                kind, subject = "node", end
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
