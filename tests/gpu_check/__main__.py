"""Try on this machine what needs a GPU, and leave one archive.

A: facts, nvidia-smi, telemetry, the trainer in every precision. B: the playbooks with
inventory/this_machine. C: groups of ranks, data, compiled training. Each ends within ten minutes.
prepare: install the Ansible that B needs into .state/gpu-check, on a machine with an index.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from gpu_check.judge import FAILED, summary
from gpu_check.trials import all_trials
from gpu_check.work import ROOT, VENDORED, Work, attempt, pack

PART_SECONDS = 540  # a trial that has begun may take half a minute more to end


def main() -> int:
    """Return 0, 1 where a trial failed, 130 after an interruption."""
    parser = argparse.ArgumentParser("scripts/gpu-check", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("part", choices=("A", "B", "C", "all", "prepare"))
    parser.add_argument("--python", default="python3", help="interpreter with PyTorch")
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--output", type=Path, default=ROOT / ".state/gpu-check", metavar="DIR")
    parser.add_argument("--seconds", type=float, default=PART_SECONDS, help="of each part")
    parser.add_argument(
        "--only", default="", metavar="A,B", help="trials with A or B in their name"
    )
    parser.add_argument("--for-python", default="3.12", help="prepare: its Python there")
    options = parser.parse_args()
    if options.part == "prepare":
        return prepare(options.for_python)
    python = shutil.which(options.python)
    if not python or subprocess.call([python, "-c", "import torch, numpy"]):
        parser.error(f"--python {options.python}: this needs a Python with PyTorch and NumPy")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = options.output.resolve() / time.strftime(f"gpu-check-{options.part}-%Y%m%dT%H%M%S")
    work = Work(os.path.abspath(python), options.device, folder, options.seconds)
    return run(work, options.part, options.only)


def run(work: Work, part: str, only: str) -> int:
    """Make the trials of the parts; pack what there is, after an interruption too."""
    outcomes, status, begun = [], 0, ""
    parts = ("A", "B", "C") if part == "all" else (part,)
    found = [
        one
        for one in all_trials(work.sizes)
        if one.part in parts and any(text in one.name for text in only.split(","))
    ]
    wanted = sorted(found, key=lambda trial: trial.part)
    try:
        for number, trial in enumerate(wanted, 1):
            if trial.part != begun:
                begun = trial.part
                work.begin(begun)
            print(f"[{number}/{len(wanted)}] {trial.part} {trial.name} ...", flush=True)
            outcomes.append(attempt(trial, work))
            print(f"    {outcomes[-1].verdict}: {outcomes[-1].words}", flush=True)
        status = int(any(one.verdict == FAILED for one in outcomes))
    except KeyboardInterrupt:
        status = 130
    text = summary(outcomes) + ("interrupted\n" if status == 130 else "")
    (work.folder / "summary.txt").write_text(text)
    (work.folder / "summary.json").write_text(json.dumps([vars(one) for one in outcomes], indent=1))
    print(f"\n{text}\nArchive: {pack(work.folder)}")
    return status


def prepare(version: str) -> int:
    """Install Ansible for another machine's Python, such as 3.12; return pip's exit status."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line.startswith(("ansible-core", "jinja2", "pyyaml", "rich"))]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--no-compile"]
    fitting = ["--only-binary=:all:", f"--python-version={version}", f"--target={VENDORED}"]
    return subprocess.call([*pip, *fitting, *pins])


if __name__ == "__main__":
    sys.exit(main())
