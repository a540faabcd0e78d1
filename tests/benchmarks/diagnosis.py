#!/usr/bin/env python3
"""Error rates of the diagnosis in simulation: the curve of detection over the size of a deficit.

PYTHONPATH=collections python tests/benchmarks/diagnosis.py

Goals: of cases with one link 20 % or one node 10 % slower at least 95 % are named exactly, of sound
clusters at most 1 % get a suspect. Exit status 1 where a goal is missed. The noise is --noise
between repeats and --unlike between sound nodes and links, both normal, with a share --disturbed
of repeats that lose 40 %. With --drawn a figure's repeats are drawn, together, from those of real
sound diagnoses (tests/fixtures/diagnosis_noise.json, 8 of tests/benchmarks/diagnosis_rates.py on
two cores with other work); then no goal is set, for the noise decides. A pair runs at the rate of
its slowest part.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/unit"), str(ROOT / "workloads")]

from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.kinds import pair_name
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import (
    UNDECIDED,
    judge,
)
from diagnosis_data import measured, named, two_racks

from collectives.rounds import rounds

DRAWN = ROOT / "tests/fixtures/diagnosis_noise.json"
SIZES = (3, 4, 8, 16, 32, 64, 512)
EFFECTS = (0.05, 0.08, 0.10, 0.15, 0.20, 0.30)
# Of a node, in the cases with a slow device.
DEVICES = 8
# What is made slower in a case; "own": the first link is one of the first node's; "uplink": the
# pairs between two halves, which are groups; "group": the pairs that touch a group, of a quarter.
KINDS = {
    "node": ("node",),
    "device": ("device",),
    "network": ("network",),
    "link": ("link",),
    "uplink": ("uplink",),
    "group": ("group",),
    "two nodes": ("node", "node"),
    "two networks": ("network", "network"),
    "two links": ("link", "link"),
    "node and network": ("node", "network"),
    "node and link": ("node", "link"),
    "network and link": ("network", "link"),
    "node and its link": ("node", "own"),
}
# Sound clusters, by what stands in the table; the word at the end as of a case.
SOUND = {
    "nothing": "sound",
    f"nothing, {DEVICES} devices": "sound device",
    "nothing, two groups": "sound group",
}
GOALS = {("node", 0.10): 0.95, ("link", 0.20): 0.95}
MOST_ALARMS = 0.01


def make_case(kind: str, count: int, seed: int, share: float):
    """Return the deficits of a case and the suspects that it should have, by the dice."""
    dice = random.Random(-seed - 1)
    nodes = dice.sample(range(count), 2)
    # Above 32 nodes most links are not measured: one of those that are.
    pairs = [pair for one in rounds(count) for pair in one]
    dice.shuffle(pairs)
    if kind == "device":
        place = nodes[0], dice.randrange(DEVICES)
        return {"device": {place: share}}, {("device", f"node{place[0] + 1} {place[1]}")}
    if kind == "uplink":
        return {"across": (first_rack(kind, count), share)}, {("uplink", "rack1 and rack2")}
    if kind == "group":
        return {"touching": (first_rack(kind, count), share)}, {("group", "rack1")}
    deficits: dict[str, dict] = {"node": {}, "network": {}, "link": {}}
    for number, what in enumerate(KINDS[kind]):
        if what in ("node", "network"):
            deficits[what][nodes[number]] = share
            continue
        # A link of a node with a slow network that is as slow cannot be told.
        own = [pair for pair in pairs if nodes[0] in pair]
        free = [
            pair
            for pair in pairs
            if pair not in deficits["link"] and not deficits["network"].keys() & set(pair)
        ]
        deficits["link"][(own if what == "own" else free)[0]] = share
    expected = {(what, f"node{one + 1}") for what in ("node", "network") for one in deficits[what]}
    expected |= {("link", pair_name([f"node{one + 1}" for one in it])) for it in deficits["link"]}
    return deficits, expected


def first_rack(kind: str, count: int) -> int:
    """Return how many nodes the first of two groups has."""
    return count // 2 if kind == "uplink" else max(2, count // 4)


def rates(kind: str, count: int, share: float, trials: int, noise: dict) -> tuple[float, float]:
    """Return the shares of trials that are named exactly, and that are undecided."""
    right = undecided = 0
    with_groups = kind.endswith(("uplink", "group"))
    groups = two_racks(count, first_rack(kind, count)) if with_groups else {}
    noise = {**noise, "devices": DEVICES if kind.endswith("device") else 1}
    for seed in range(trials):
        deficits, expected = ({}, set())
        if not kind.startswith("sound"):
            deficits, expected = make_case(kind, count, seed, share)
        verdict = judge(measured(count, seed, **deficits, **noise), groups)
        right += named(verdict) == expected
        undecided += verdict["verdict"] == UNDECIDED
    return right / trials, undecided / trials


def main() -> int:
    """Print a table of the rates and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--noise", type=float, default=0.02, help="of a repeat, as a logarithm")
    parser.add_argument("--unlike", type=float, default=0.005, help="between sound nodes and links")
    parser.add_argument("--disturbed", type=float, default=0.0, help="share of the repeats")
    parser.add_argument(
        "--scattered", type=float, metavar="NOISE", help="of the pairs of the first node"
    )
    parser.add_argument("--drawn", action="store_true", help="draw from measured repeats")
    parser.add_argument("--trials", type=int, default=40, help="up to 8 nodes; above fewer")
    parser.add_argument("--sound", type=int, default=200, help="sound clusters of each size")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="NODES")
    parser.add_argument("--effects", type=float, nargs="+", default=EFFECTS, metavar="SHARE")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS, metavar="KIND")
    options = parser.parse_args()
    noise = {"noise": options.noise, "unlike": options.unlike, "disturbed": options.disturbed}
    if options.scattered:
        noise["scattered"] = (0, options.scattered)
    if options.drawn:
        noise = {"drawn": json.loads(DRAWN.read_text())}
    print(f"{'measured repeats' if options.drawn else noise}: named exactly, in %")
    print("| nodes | slow | trials | " + " | ".join(f"-{e:.0%}" for e in options.effects) + " |")
    print("| ---: | --- | ---: |" + " ---: |" * len(options.effects))
    missed = []
    for count in options.sizes:
        for name, kind in SOUND.items() if options.sound else ():
            right, undecided = rates(kind, count, 0.0, options.sound, noise)
            shares = f"{right:.1%}, undecided {undecided:.1%}"
            print(f"| {count} | {name} | {options.sound} | {shares} |", flush=True)
            # So few trials cannot show a rate: more alarms than the goal's would be by chance.
            allowed = MOST_ALARMS + 2 * math.sqrt(MOST_ALARMS / options.sound)
            if 1 - right > allowed:
                missed.append(f"{count} nodes, {name}: {1 - right:.1%} alarms")
        trials = options.trials if count <= 8 else max(10, options.trials * 8 // count)
        # Of three nodes a group of two touches every pair.
        for kind in [one for one in options.kinds if one != "group" or count > 3]:
            found = [rates(kind, count, share, trials, noise)[0] for share in options.effects]
            cells = " | ".join(f"{one:.0%}" for one in found)
            print(f"| {count} | {kind} | {trials} | {cells} |", flush=True)
            missed += [
                f"{count} nodes, {kind} -{share:.0%}: {one:.0%}"
                for share, one in zip(options.effects, found, strict=True)
                if one < GOALS.get((kind, share), 0.0)
            ]
    if missed and not options.drawn:
        print("MISSED: " + "; ".join(missed))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
