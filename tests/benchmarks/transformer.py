"""Measure what bench.yml costs a training of the decoder, beside a bare torchrun of the same file.

Run ``python tests/benchmarks/transformer.py [--pairs N] [--iterations N]``. A campaign of one
repeat and the same command without Ansible and supervisor take turns, and the one that begins a
pair too, on this machine alone and without sshd. Both throughputs are read from the logs by the
same rule.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text

ROOT = Path(__file__).resolve().parents[2]
WARMUP, GOAL = 5, 0.98


def play(playbook: str, state: Path, **variables: object) -> None:
    """Run a playbook on this machine.

    :raises SystemExit: it failed; with the end of its output.
    """
    own = {"scalebench_state_dir": str(state), "framework_dir": str(ROOT / ".state/venvs")}
    command = ["ansible-playbook", "-i", "inventory/this_machine", f"playbooks/{playbook}.yml"]
    done = subprocess.run(
        [*command, "-e", json.dumps({**own, "benchmark": "llama", **variables})],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{playbook}.yml failed:\n{done.stdout[-3000:]}")


def through_bench(state: Path, campaign: str, iterations: int) -> float:
    """Return the tokens/s of a campaign of one repeat."""
    play(
        *("bench", state),
        campaign=campaign,
        campaign_results_dir=str(state / "results"),
        topology="1n1g",
        repeats=1,
        warmup=WARMUP,
        iterations=iterations,
        preflight=False,
    )
    (log,) = (state / "results" / campaign).glob("logs/**/*.log")
    return throughput(log.read_text(), iterations)


def bare(state: Path, iterations: int) -> float:
    """Return the tokens/s of the command of the first campaign."""
    plan = json.loads((state / "results/first/plan.json").read_text())
    (command,) = plan["cells"][0]["commands"].values()
    done = subprocess.run(
        command["argv"],
        env={**os.environ, **command["env"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return throughput(done.stdout, iterations)


def throughput(text: str, iterations: int) -> float:
    """Return the tokens/s of a log, of which no iteration may be missing."""
    facts = facts_of_text(text, parameters={"warmup": WARMUP, "iterations": iterations})
    if facts["throughput"] is None or facts["count"] != iterations:
        raise SystemExit(f"no comparison: {facts['reason']}\n{text[-2000:]}")
    return facts["throughput"]


def main() -> None:
    """Print both throughputs of each pair, and the median of their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7, help="default 7")
    parser.add_argument("--iterations", type=int, default=40, help="default 40")
    options = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory(prefix="transformer") as folder:
        state = Path(folder)
        play("provision", state)
        through_bench(state, "first", options.iterations)
        print(f"Tokens/s through bench.yml, of a bare torchrun; load {os.getloadavg()[0]:.1f}")
        for number in range(options.pairs):
            ways = {
                "ours": lambda name=f"pair{number}": through_bench(state, name, options.iterations),
                "bare": lambda: bare(state, options.iterations),
            }
            speeds = {way: ways[way]() for way in sorted(ways, reverse=number % 2 == 0)}
            ratios.append(speeds["ours"] / speeds["bare"])
            print(f"{speeds['ours']:10.1f} {speeds['bare']:10.1f} {ratios[-1]:8.4f}", flush=True)
    ordered = sorted(ratios)
    spread = f"{ordered[0]:.4f} to {ordered[-1]:.4f}"
    print(f"median of the ratios {statistics.median(ratios):.4f}, all from {spread} (goal: {GOAL})")


if __name__ == "__main__":
    main()
