#!/usr/bin/env python3
"""Error rates of the diagnosis in simulation.

PYTHONPATH=collections python tests/benchmarks/diagnosis.py

Goals: of cases with a link 20 % or a node 10 % slower at least 95 % are named exactly, of sound
clusters at most 1 % get a suspect. Exit status 1 where a goal is missed. The noise is simulated
and normal, --noise between repeats and --unlike between sound nodes and links: of a real cluster
with other noise this says nothing.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/unit"), str(ROOT / "workloads")]

from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import judge
from diagnosis_data import measured, named

from collectives.rounds import rounds


def case(kind: str, count: int, seed: int, share: float) -> tuple[dict, set[tuple[str, str]]]:
    """Return the deficits of a case and the suspects that it should have."""
    dice = random.Random(-seed - 1)
    if kind == "sound":
        return {}, set()
    if kind == "link":
        # Above 32 nodes most links are not measured: one of those that are.
        pair = dice.choice([pair for one in rounds(count) for pair in one])
        return {"link": {pair: share}}, {("link", f"node{pair[0] + 1} - node{pair[1] + 1}")}
    one = dice.randrange(count)
    return {kind: {one: share}}, {(kind, f"node{one + 1}")}


def main() -> int:
    """Print the rates of each case and return the exit status."""
    parser = argparse.ArgumentParser(description="Error rates of the diagnosis in simulation.")
    parser.add_argument("--noise", type=float, default=0.02, help="of a repeat, as a logarithm")
    parser.add_argument("--unlike", type=float, default=0.005, help="between sound nodes and links")
    parser.add_argument("--trials", type=int, default=200, help="up to 32 nodes; above fewer")
    options = parser.parse_args()
    missed = False
    print(f"noise {options.noise}, sound nodes and links differ by {options.unlike}")
    for count in (4, 8, 16, 32, 64, 512):
        trials = options.trials if count <= 8 else max(20, options.trials * 8 // count)
        wanted = [("sound", 0.0), ("node", 0.1), ("network", 0.1), ("network", 0.2)]
        wanted += [("link", share) for share in (0.1, 0.2, 0.5)]
        for kind, share in wanted:
            right = 0
            for seed in range(trials):
                deficits, expected = case(kind, count, seed, share)
                one = measured(count, seed, **deficits, noise=options.noise, unlike=options.unlike)
                names = {(k, " - ".join(sorted(s.split(" - ")))) for k, s in expected}
                right += named(judge(one, {})) == names
            goal = {("sound", 0.0): 0.99, ("node", 0.1): 0.95, ("link", 0.2): 0.95}
            bad = right / trials < goal.get((kind, share), 0.0)
            missed |= bad
            what = f"{kind} -{100 * share:.0f} %" if share else kind
            print(f"{count:4} nodes, {what:13} {right} of {trials}" + ("  MISSED" if bad else ""))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
