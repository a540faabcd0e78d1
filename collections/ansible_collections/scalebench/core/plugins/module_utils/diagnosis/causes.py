"""Figures of a measurement, and what could have made some of them lower than the others."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import Any, Dict, FrozenSet, List, Mapping, NamedTuple, Sequence, Tuple

from .kinds import (
    DEVICE,
    FABRIC,
    GROUP,
    GROUP_SEPARATOR,
    LINK,
    NETWORK,
    NODE,
    UPLINK,
    pair_name,
)
from .repeats import undisturbed

__all__ = ["Table", "table_of_pairs", "tables_alone", "too_few_repeats"]

_PAIRS = "pair_transfer"
_MEAN = "mean of the tests"
# The median of fewer is moved by one disturbance: of 16 diagnoses of sound nodes with one repeat
# each, two named a link.
_LEAST_REPEATS = 3
# What so many figures have in common in a repeat is no noise of theirs.
_COMMON = 4
Causes = Dict[str, FrozenSet[str]]


def too_few_repeats(rates: Sequence[float]) -> str:
    """Return what is wrong with a figure of so few repeats, empty for nothing."""
    if len(rates) >= _LEAST_REPEATS:
        return ""
    return (
        f"measured {len(rates)} times, and one disturbance would make it a suspect: measure at"
        f" least {_LEAST_REPEATS} times (-e iterations={_LEAST_REPEATS})"
    )


class Table(NamedTuple):
    """The figures of a test by name: logarithms of a device's or pair's rate in each repeat."""

    test: str
    figures: Dict[str, List[float]]
    # The figures that each cause, named ``kind:subject``, makes lower.
    causes: Causes
    # The figures of each node.
    nodes: List[FrozenSet[str]]


def tables_alone(measured: Mapping[str, Any]) -> List[Table]:
    """Return a table of each test, and of their mean: what slows all tests is clearer there.

    :param measured: as of ``suspects.judge``.
    :raises ValueError: fewer than three repeats, or a rate that is not above 0.
    """
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
        figures[_MEAN] = {
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
                causes[f"{NODE}:{node}"] = own
            if len(own) > 1:
                causes.update({f"{DEVICE}:{one}": frozenset({one}) for one in own})
        tables.append(Table(test, found, causes, nodes))
    return tables


def table_of_pairs(measured: Mapping[str, Any], groups: Mapping[str, Sequence[str]]) -> Table:
    """Return the table of the pairs, with what two causes cover alike as one.

    :param measured: as of ``suspects.judge``.
    :param groups: nodes by the name of an inventory group.
    :raises ValueError: as :func:`tables_alone`.
    """
    pairs = {pair_name(row["nodes"]): frozenset(row["nodes"]) for row in measured["pairs"]}
    own = {
        node: frozenset(name for name, ends in pairs.items() if node in ends)
        for node in measured["nodes"]
    }
    causes = {f"{NETWORK}:{node}": names for node, names in own.items()}
    causes.update({f"{LINK}:{name}": frozenset({name}) for name in pairs})
    for group in sorted(groups):
        inside = {name: len(ends.intersection(groups[group])) for name, ends in pairs.items()}
        # First the group: an uplink is told from it only where pairs inside were measured.
        causes[f"{GROUP}:{group}"] = frozenset(name for name, ends in inside.items() if ends)
        causes[f"{UPLINK}:{group}"] = frozenset(name for name, ends in inside.items() if ends == 1)
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
    return Table(_PAIRS, _logarithms(rows), _distinct(causes), [one for one in own.values() if one])


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


def _logarithms(rows: Sequence[Tuple[str, Sequence[float]]]) -> Dict[str, List[float]]:
    """Return the logarithms of rates without what a whole repeat has in common."""
    for name, rates in rows:
        if not rates or not all(rate > 0 and math.isfinite(rate) for rate in rates):
            raise ValueError(f"{name}: the rates {list(rates)!r} are not numbers above 0")
        problem = too_few_repeats(rates)
        if problem:
            raise ValueError(f"{name}: {problem}")
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
