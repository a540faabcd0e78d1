"""Measure what bench.yml costs a training of the decoder, beside a bare torchrun of the same file.

Run ``python tests/benchmarks/transformer.py [--pairs N] [--iterations N]``. A campaign of one
repeat and the same command without Ansible and supervisor take turns, and the one that begins a
pair too, on this machine alone and without sshd. Both throughputs are read from the logs by the
same rule, and both headers must say the same. Exit status: 0 if the 95 % interval of the median
ratio lies at or above the goal, 1 if below, 2 if it has the goal in it. It leaves out the lowest
and the highest of nine pairs, so one that something else disturbed does not decide.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import summarise

ROOT = Path(__file__).resolve().parents[2]
WARMUP, GOAL, LEVEL = 5, 0.98, 0.95


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


def through_bench(state: Path, campaign: str, iterations: int) -> str:
    """Return the log of a campaign of one repeat."""
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
    return log.read_text()


def bare(state: Path) -> str:
    """Return the output of the command of the first campaign."""
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
    return done.stdout


def header(text: str) -> dict[str, object]:
    """Return what a log says was trained, and how: threads, device, versions, model."""
    return json.loads(text.split("[scalebench] header ", 1)[1].splitlines()[0])


def throughput(text: str, iterations: int) -> float:
    """Return the tokens/s of a log, of which no iteration may be missing."""
    facts = facts_of_text(text, parameters={"warmup": WARMUP, "iterations": iterations})
    if facts["throughput"] is None or facts["count"] != iterations:
        raise SystemExit(f"no comparison: {facts['reason']}\n{text[-2000:]}")
    return facts["throughput"]


def verdict(ratios: list[float]) -> int:
    """Print the median of the ratios with its interval, and return the exit status."""
    summary = summarise(ratios)
    interval = summary["interval"]
    print(
        f"median of the ratios {summary['median']:.4f}, {interval['coverage']:.0%} interval"
        f" {interval['low']:.4f} to {interval['high']:.4f}, all from {min(ratios):.4f} to"
        f" {max(ratios):.4f} (goal: {GOAL})"
    )
    if interval["coverage"] < LEVEL:
        print(f"not decided: {len(ratios)} pairs are too few, six are the fewest")
        return 2
    if interval["low"] >= GOAL:
        return 0
    print("missed" if interval["high"] < GOAL else "not decided: the goal is in the interval")
    return 1 if interval["high"] < GOAL else 2


def main() -> int:
    """Print both throughputs of each pair, and the median of their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=9, help="at least 2, default 9")
    parser.add_argument("--iterations", type=int, default=40, help="default 40")
    options = parser.parse_args()
    if options.pairs < 2:
        parser.error("--pairs: one has no interval")
    ratios = []
    with tempfile.TemporaryDirectory(prefix="transformer") as folder:
        state = Path(folder)
        play("provision", state)
        through_bench(state, "first", options.iterations)
        print(f"Tokens/s through bench.yml, of a bare torchrun; load {os.getloadavg()[0]:.1f}")
        for number in range(options.pairs):
            ways = {
                "ours": lambda name=f"pair{number}": through_bench(state, name, options.iterations),
                "bare": lambda: bare(state),
            }
            logs = {way: ways[way]() for way in sorted(ways, reverse=number % 2 == 0)}
            speeds = {way: throughput(text, options.iterations) for way, text in logs.items()}
            if header(logs["ours"]) != header(logs["bare"]):
                raise SystemExit(f"no comparison: {header(logs['ours'])}, {header(logs['bare'])}")
            ratios.append(speeds["ours"] / speeds["bare"])
            print(f"{speeds['ours']:10.1f} {speeds['bare']:10.1f} {ratios[-1]:8.4f}", flush=True)
    return verdict(ratios)


if __name__ == "__main__":
    sys.exit(main())
