"""What benchmark diagnose measured, from its logs; what it will measure, from the nodes."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Tuple, TypedDict

from ..evidence.redaction import shown
from ..layout.plain_text import plain
from ..records.shape import check_shape, parse_json
from .causes import too_few_repeats
from .effects import too_few_figures
from .kinds import pair_name

__all__ = ["EVERY_PAIR", "OF_GPUS", "TESTS", "measurement", "schedule"]

# As in workloads/collectives/rounds.py, which makes the rounds.
EVERY_PAIR, _REPEATED = 32, 2
# What is measured of each device alone, in which unit: nodes_and_pairs.py there.
TESTS = {
    "training_step": "steps/s",
    "matrix_product": "GFLOP/s",
    "memory_copy": "GB/s, read and written",
    "host_to_device": "GB/s",
}
OF_GPUS = ("host_to_device",)
# A word of messages, of patterns of hosts and of Prometheus.
_NAME = re.compile(r"[\w.:-]{1,255}")


# Of a node; no machine has so many.
_MOST_DEVICES = 1000
# Lines that are named; of a log of thousands of them the rest says the same.
_MOST_LEFT_OUT = 100


class _Row(TypedDict):
    rates: List[float]


class _Alone(_Row):
    test: str
    node: str
    device: int


class _Pair(_Row):
    nodes: List[str]


_LINES: Mapping[str, Tuple[str, Any, Tuple[str, ...]]] = {
    "alone": ("[scalebench] alone ", _Alone, ("test", "node", "device")),
    "pairs": ("[scalebench] pair ", _Pair, ("nodes",)),
}


def measurement(logs: Mapping[str, str]) -> Dict[str, Any]:
    """Return ``nodes``, ``alone`` and ``pairs`` as :func:`.suspects.judge` takes them.

    Rates of the same device or pair in several logs are joined, those of pairs that were measured
    again (``again``) last. Lines that cannot be read are left out, as is what was measured too few
    times, and a test that too few figures are left of: ``left_out`` names each. Source of the
    lines: workloads/collectives/nodes_and_pairs.py.

    :param logs: texts by the name of their log.
    :raises ValueError: there are no such lines, or nothing is left that can be judged.
    """
    found: Dict[str, Dict[Tuple[Any, ...], Dict[str, Any]]] = {kind: {} for kind in _LINES}
    left_out: List[str] = []
    again: List[Tuple[Dict[str, Any], List[float]]] = []
    for log, text in logs.items():
        for number, kind, row_text in _lines(text):
            _, shape, keys = _LINES[kind]
            try:
                row = _row(row_text, shape, keys)
            except ValueError as error:
                left_out.append(shown(plain(f"{log}, line {number}: {error}")))
                continue
            # A pair is the same in both orders.
            key = tuple(str(sorted(row[name]) if name == "nodes" else row[name]) for name in keys)
            repeated = row.pop("again")
            if key not in found[kind]:
                found[kind][key] = row
            elif repeated:
                again.append((found[kind][key], row["rates"]))
            else:
                found[kind][key]["rates"] += row["rates"]
    for row, rates in again:
        row["rates"] += rates
    nodes = list(dict.fromkeys(row["node"] for row in found["alone"].values()))
    known = {*nodes}
    for row in found["pairs"].values():
        unknown = set(row["nodes"]) - known
        if unknown:
            left_out.append(f"{_name(row)}: nothing alone was measured of {sorted(unknown)}")
    of_known = [row for row in found["pairs"].values() if known.issuperset(row["nodes"])]
    rows = {"alone": found["alone"].values(), "pairs": of_known}
    usable = {kind: _usable(of_kind, left_out) for kind, of_kind in rows.items()}
    if len(left_out) > _MOST_LEFT_OUT:
        left_out[_MOST_LEFT_OUT:] = [f"and {len(left_out) - _MOST_LEFT_OUT} more lines"]
    if not all(usable.values()):
        why = f" ({'; '.join(left_out[:3])})" if left_out else ": was it benchmark diagnose?"
        raise ValueError(f"the logs have no figures of nodes and pairs{why}")
    return {"nodes": nodes, **usable, "left_out": left_out}


def _usable(rows: Iterable[Dict[str, Any]], left_out: List[str]) -> List[Dict[str, Any]]:
    """Return the rows of enough repeats, of tests with enough of them; add what is left out."""
    problems = [(row, too_few_repeats(row["rates"])) for row in rows]
    left_out += [f"{_name(row)}: {problem}" for row, problem in problems if problem]
    often = [row for row, problem in problems if not problem]
    figures = Counter(map(_test, often))
    few = {test: too_few_figures(count) for test, count in figures.items()}
    left_out += [f"{test}: {problem}" for test, problem in few.items() if problem]
    return [row for row in often if not few[_test(row)]]


def _test(row: Mapping[str, Any]) -> str:
    return str(row.get("test", "pairs"))


def _name(row: Mapping[str, Any]) -> str:
    if "test" in row:
        return f"{row['test']} of {row['node']} {row['device']}"
    return f"pair {pair_name(row['nodes'])}"


def _lines(text: str) -> Iterator[Tuple[int, str, str]]:
    """Yield number, kind and value of the lines that hold a measurement."""
    for number, line in enumerate(text.split("\n"), 1):
        for kind, (mark, _, _) in _LINES.items():
            _, is_there, row_text = line.partition(mark)
            if is_there:
                yield number, kind, row_text


def _row(text: str, shape: Any, keys: Tuple[str, ...]) -> Dict[str, Any]:
    row = parse_json(text)
    check_shape(row, shape, "it", {shape: (*keys, "rates")})
    if not row["rates"] or min(row["rates"]) <= 0:
        raise ValueError("it has no rates above 0")
    names = row["nodes"] if "nodes" in keys else [row["node"]]
    odd = [name for name in names if not _NAME.fullmatch(name)]
    if odd:
        raise ValueError(f"it names no node: {odd[0]!r:.80}")
    if "test" in row and row["test"] not in TESTS:
        raise ValueError(f"it has an unknown test {row['test']!r:.80}")
    if not 0 <= row.get("device", 0) < _MOST_DEVICES:
        raise ValueError(f"it has a device {row['device']!r:.80}")
    if "nodes" in keys and (len(row["nodes"]) != 2 or len(set(row["nodes"])) != 2):
        raise ValueError("a pair has two nodes")
    kept = {name: row[name] for name in keys}
    rates = [float(rate) for rate in row["rates"]]
    return {**kept, "rates": rates, "again": bool(row.get("again"))}


def schedule(nodes: int) -> List[str]:
    """Return what a diagnosis of so many nodes measures, in sentences."""
    tests = [f"{test.replace('_', ' ')}{' (of GPUs)' * (test in OF_GPUS)}" for test in TESTS]
    lines = [
        "What deficit can be found depends on the noise, and the report states it. In simulation,"
        " at 2 % of noise, a link 20 % slower and a node 10 % slower are found (docs/diagnose.md).",
        f"Each of {nodes} nodes alone, all at the same time: {', '.join(tests)}.",
    ]
    every = nodes * (nodes - 1) // 2
    again = f"Those that look slow or whose repeats disagree again, in at most {_REPEATED} rounds."
    if nodes <= EVERY_PAIR:
        count = nodes - 1 + nodes % 2
        return [*lines, f"All {every} pairs of nodes, in {count} rounds of disjoint pairs.", again]
    count = nodes.bit_length() + 2 - _REPEATED
    pairs = count * (nodes // 2)
    more = "A slow node is found among all, a slow link only if it is one of the measured."
    return [*lines, f"{pairs} of {every} pairs, in {count} rounds of disjoint pairs.", again, more]
