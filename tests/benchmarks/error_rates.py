"""Print how often each statistical rule errs under simulated noise: docs/statistics.md has them.

The draws are seeded by rule and noise, so that a second run prints the same. ``--seed`` draws
others, a word limits the table to the rules whose name has it.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/unit"))

from rule_simulations import SIMULATIONS, Simulation, rate


def stated(simulation: Simulation) -> str:
    """Return what the rule states, in percent."""
    if simulation.stated is None:
        return "nothing"
    least, most = (f"{100 * bound:.3g}" for bound in simulation.stated)
    return f"≤ {most}" if least == "0" else f"≥ {least}" if most == "100" else f"{least} to {most}"


def main() -> None:
    """Print one row for each rule and noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("word", nargs="?", default="")
    given = parser.parse_args()
    print("| rule | rate | noise | stated % | simulated % | trials | ± |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    started = time.monotonic()
    for one in SIMULATIONS:
        if given.word in one.rule:
            share = rate(one, one.trials, given.seed)
            # Agresti and Coull: of 0 of 2000, too, there is an error.
            near = (share * one.trials + 2) / (one.trials + 4)
            sampling = 200 * math.sqrt(near * (1 - near) / (one.trials + 4))
            figures = (f"{100 * share:.1f}", str(one.trials), f"{sampling:.1f}")
            row = (one.rule, one.rate, one.noise, stated(one), *figures)
            print(f"| {' | '.join(row)} |", flush=True)
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
