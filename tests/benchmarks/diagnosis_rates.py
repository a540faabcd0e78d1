#!/usr/bin/env python3
"""Error rates of the diagnosis with real transfers and products, and real deficits.

PYTHONPATH=collections python tests/benchmarks/diagnosis_rates.py

The nodes are network namespaces on one machine. Each has a part of a core (cgroup) and links of a
rate (htb), so that these are the limit and not the machine; a deficit is a smaller part or rate.
Every case runs workloads/collectives/diagnose.py on all nodes and judges its log. Goals, with 50
cases of a kind at least: 95 % named exactly at a link -20 % and a node -10 %, 99 % of the sound.
Exit status 1 where a goal is missed. Needs root. A case takes 20 to 35 s.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import itertools
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/unit"), str(ROOT / "workloads")]

from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.kinds import pair_name
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.measurement import (
    measurement,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import judge
from diagnosis_data import named, two_racks
from shaped_nodes import Node, in_namespaces, start_nodes

from collectives import diagnose
from common.process import end_now

PYTHON = ROOT / ".state/venvs/pytorch/bin/python"
# Of all ranks.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "eth0",
    "MASTER_PORT": "29500",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
}
# All ranks compute on this core: on several at once they would disturb each other's caches.
CORE = max(os.sched_getaffinity(0))
SECONDS = 300
MBIT = 100
# What is made slower, by how much, and the share of the cases. "busy": another process that
# computes takes half of the node's part. "uplink": the pairs between two halves, which are groups.
# "path": a link whose packets go through a third node, which forwards them slowly. "way": a link of
# which one node sends more slowly.
KINDS = {
    "sound": ((), 0.0, 10),
    "link -10 %": (("link",), 0.1, 1),
    "link -20 %": (("link",), 0.2, 6),
    "link -50 %": (("link",), 0.5, 1),
    "network -20 %": (("network",), 0.2, 1),
    "node -10 %": (("node",), 0.1, 4),
    "node -30 %": (("node",), 0.3, 1),
    "node busy": (("busy",), 0.5, 1),
    "link and node -20 %": (("link", "node"), 0.2, 1),
    "two links -20 %": (("link", "link"), 0.2, 1),
    "two nodes -20 %": (("node", "node"), 0.2, 1),
    "way out of a group -20 %": (("uplink",), 0.2, 1),
    "path through a node -20 %": (("path",), 0.2, 1),
    "link one way -20 %": (("way",), 0.2, 1),
}
GOALS = {"sound": 0.99, "link -20 %": 0.95, "node -10 %": 0.95}
ENOUGH = 50


@dataclass
class Case:
    """Shares that links and nodes lose, by number, and the suspects that should be named.

    ``paths``: of a link the node through which it leads, and the share that is lost there.
    ``ways``: what of a link is lost, by sender and receiver.
    """

    paths: dict[frozenset[int], tuple[int, float]] = field(default_factory=dict)
    ways: dict[tuple[int, int], float] = field(default_factory=dict)
    nodes: dict[int, float] = field(default_factory=dict)
    busy: int | None = None
    groups: dict[str, list[str]] = field(default_factory=dict)
    expected: set[tuple[str, str]] = field(default_factory=set)


def both_ways(one: int, other: int, share: float) -> dict[tuple[int, int], float]:
    """Return what a link loses that is slower in both directions."""
    return {(one, other): share, (other, one): share}


def make_case(kind: str, count: int, dice: random.Random) -> Case:
    """Return a case of a kind; which node and link is by the dice."""
    parts, share, _ = KINDS[kind]
    everyone = [*range(1, count + 1)]
    # Each part takes nodes of its own.
    left = dice.sample(everyone, count)
    case = Case()
    for part in parts:
        one = left.pop()
        if part in ("link", "path", "way"):
            other = left.pop()
            if part == "link":
                case.ways |= both_ways(one, other, share)
            elif part == "way":
                case.ways[one, other] = share
            else:
                case.paths[frozenset({one, other})] = (left.pop(), share)
            case.expected.add(("link", pair_name([f"node{one}", f"node{other}"])))
        elif part == "network":
            for peer in left:
                case.ways |= both_ways(one, peer, share)
            case.expected.add(("network", f"node{one}"))
        elif part == "uplink":
            here, there = everyone[: count // 2], everyone[count // 2 :]
            for near, far in itertools.product(here, there):
                case.ways |= both_ways(near, far, share)
            case.groups = two_racks(count, count // 2)
            case.expected.add(("uplink", "rack1 and rack2"))
        else:
            case.expected.add(("node", f"node{one}"))
            if part == "busy":
                case.busy = one
            else:
                case.nodes[one] = share
    return case


def prepare(case: Case, nodes: list[Node], cores: float) -> None:
    """Give nodes and links what they have in a case."""
    for number, node in enumerate(nodes, 1):
        node.give_cores(cores * (1 - case.nodes.get(number, 0.0)))
        rates = {
            peer.address: MBIT * (1 - case.ways.get((number, other), 0.0))
            for other, peer in enumerate(nodes, 1)
            if other != number
        }
        routes, forwarded = {}, {}
        for ends, (through, share) in case.paths.items():
            one, other = (nodes[end - 1].address for end in ends)
            if through == number:
                forwarded |= dict.fromkeys([(one, other), (other, one)], MBIT * (1 - share))
            elif number in ends:
                routes = {other if node.address == one else one: nodes[through - 1].address}
        node.send_through(routes)
        node.shape_each(rates, forwarded)


def run_rank(node: Node, environment: dict[str, str], log: Path, alone: int) -> NoReturn:
    """Run the program of the diagnosis in this process, as a rank on a node."""
    node.enter()
    with log.open("w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    sys.stdout.reconfigure(line_buffering=True)
    os.environ.update(environment)
    sys.argv = ["diagnose.py", "--device=cpu", "--bytes=1048576", f"--alone={alone}"]
    end_now(diagnose.main())


def measure(case: Case, nodes: list[Node], folder: Path, alone: int) -> str:
    """Run the job and return the log of the first rank."""
    ranks, neighbour = [], None
    for number, node in enumerate(nodes):
        own = {"RANK": str(number), "WORLD_SIZE": str(len(nodes)), "SCALEBENCH_NODE": node.name}
        given = (node, {**own, "MASTER_ADDR": nodes[0].address}, folder / f"{node.name}.log", alone)
        ranks.append(multiprocessing.get_context("fork").Process(target=run_rank, args=given))
        ranks[-1].start()
    # Libraries are loaded without a limit, for time.
    log = folder / f"{nodes[0].name}.log"
    while not (log.is_file() and log.stat().st_size) and ranks[0].is_alive():
        time.sleep(0.02)
    for node, rank in zip(nodes, ranks, strict=True):
        node.limit(rank.pid)
        for thread in Path(f"/proc/{rank.pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {CORE})
    if case.busy:
        busy = nodes[case.busy - 1]
        neighbour = subprocess.Popen([*busy.limited, sys.executable, "-c", "while True: pass"])
    try:
        for rank in ranks:
            rank.join(SECONDS)
    finally:
        for process in [*ranks, *filter(None, [neighbour])]:
            process.kill()
        for rank in ranks:
            rank.join()
        if neighbour:
            neighbour.wait()
    return log.read_text()


def order(cases: int, dice: random.Random) -> list[str]:
    """Return the kind of each case, by their shares, shuffled."""
    total = sum(share for _, _, share in KINDS.values())
    kinds = [
        kind for kind, (_, _, share) in KINDS.items() for _ in range(round(cases * share / total))
    ]
    dice.shuffle(kinds)
    return kinds


def main() -> int:
    """Start again in namespaces, try the cases and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--cores", type=float, default=0.8, help="of a core, for all nodes")
    parser.add_argument("--alone", type=int, default=9, help="repeats of each test of a node")
    parser.add_argument("--only", choices=KINDS, help="cases of one kind")
    parser.add_argument("--results", type=Path, help="file to add a line of JSON a case to")
    options = parser.parse_args()
    if os.geteuid():
        print("Not root: the diagnosis is not tried with real deficits")
        return 0
    in_namespaces(str(PYTHON))
    os.environ.update(ENVIRONMENT)
    # The ranks are forks, which saves each of them two seconds of imports.
    importlib.import_module("collectives.nodes_and_pairs")
    dice = random.Random(options.seed)
    nodes = start_nodes(options.nodes, options.cores / options.nodes, "10.99.0")
    kinds = [options.only] * options.cases if options.only else order(options.cases, dice)
    right: collections.Counter[str] = collections.Counter()
    tried: collections.Counter[str] = collections.Counter()
    for number, kind in enumerate(kinds, 1):
        case = make_case(kind, options.nodes, dice)
        prepare(case, nodes, options.cores / options.nodes)
        with tempfile.TemporaryDirectory() as folder:
            log = measure(case, nodes, Path(folder), options.alone)
        try:
            measured = measurement({"log": log})
        except ValueError as error:
            raise SystemExit(f"{error}\n{log[-2000:]}") from None
        verdict = judge(measured, case.groups)
        tried[kind] += 1
        right[kind] += named(verdict) == case.expected
        said = "" if named(verdict) == case.expected else f" {sorted(case.expected)}: WRONG"
        print(f"{number} of {len(kinds)}, {kind}: {sorted(named(verdict))}{said}", flush=True)
        if options.results:
            row = {"kind": kind, "expected": sorted(case.expected), **verdict, "measured": measured}
            with options.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
    missed = [
        kind
        for kind, goal in GOALS.items()
        if tried[kind] >= ENOUGH and right[kind] < goal * tried[kind]
    ]
    for kind in KINDS:
        if tried[kind]:
            bad = "  MISSED" if kind in missed else ""
            print(f"{kind:20} {right[kind]} of {tried[kind]} named exactly{bad}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
