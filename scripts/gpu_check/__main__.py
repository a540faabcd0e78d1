"""Try on this machine what needs a GPU, and leave one archive.

A: facts, nvidia-smi, telemetry, the trainer in every precision, the largest batch. B: the playbooks
with inventory/this_machine. C: groups of ranks, data, compiled training. Each ends within ten
minutes. prepare: install the Ansible of the playbooks into .state/gpu-check, where there is an
index. Exit codes: 0; 1 a trial failed; 2 a wrong call; 3 none passed; 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT / name) for name in ("scripts", "collections", "workloads")]

from gpu_check.judge import FAILED, PASSED, summary
from gpu_check.trials import all_trials
from gpu_check.work import VENDORED, Trial, Work, attempt, pack

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PART_SECONDS = 540  # a trial that has begun may take half a minute more to end


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser("scripts/gpu-check", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("part", choices=("A", "B", "C", "all", "prepare"))
    parser.add_argument("--python", default="python3", help="interpreter with PyTorch")
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--output", type=Path, default=ROOT / ".state/gpu-check", metavar="DIR")
    parser.add_argument("--seconds", type=float, default=PART_SECONDS, help="of each part")
    parser.add_argument("--only", default="", metavar="X,Y", help="trials with X or Y in the name")
    parser.add_argument("--for-python", default="3.12", help="prepare: its Python there")
    options = parser.parse_args()
    if options.part == "prepare":
        if not importlib.util.find_spec("pip"):
            parser.error(f"{sys.executable} has no pip: set PYTHON to a Python that has it")
        return prepare(options.for_python)
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
    if options.device == "gpu" and gpus.split(",")[0] != "0":
        parser.error(
            f"CUDA_VISIBLE_DEVICES={gpus}: the playbooks use GPU 0 of nvidia-smi; unset it"
        )
    folder = options.output.resolve() / time.strftime(f"gpu-check-{options.part}-%Y%m%dT%H%M%S")
    python = os.path.abspath(shutil.which(options.python) or options.python)
    work = Work(python, options.device, folder, options.seconds)
    torch = work.ask([python, "-c", "import torch; print(torch.__version__)"])
    if torch is None:
        parser.error(f"--python {options.python}: this needs a Python that can import torch")
    parts, words = options.part.replace("all", "ABC"), options.only.split(",")
    found = [one for part in parts for one in all_trials(work.sizes) if one.part == part]
    lost = [word for word in words if not any(word in one.name for one in found)]
    if lost:
        parser.error(f"--only: no trial of {options.part} has {' or '.join(lost)} in its name")
    git = ["git", f"--git-dir={ROOT / '.git'}", "describe", "--always", "--dirty", "--exclude=*"]
    call = {"arguments": sys.argv[1:], "date": time.strftime("%FT%T%z"), "python": python,
            "torch": torch, "revision": work.ask([*git, "--abbrev=40"])}  # fmt: skip
    try:
        folder.mkdir(parents=True)
        (folder / "call.json").write_text(json.dumps(call, indent=1))
    except OSError as error:
        parser.error(f"--output: {error}; name a folder that you may write to")
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, interrupt)
    return run(work, [one for one in found if any(word in one.name for word in words)])


def interrupt(*_: Any) -> None:
    """Interrupt the trials, once: then what they started is ended, and the archive written."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def run(work: Work, trials: list[Trial]) -> int:
    """Make the trials; pack what there is, after an interruption too."""
    outcomes, status, begun = [], 0, ""
    try:
        for number, trial in enumerate(trials, 1):
            if trial.part != begun:
                begun = trial.part
                work.begin(begun)
            print(f"[{number}/{len(trials)}] {trial.part} {trial.name} ...", flush=True)
            outcomes.append(attempt(trial, work))
            print(f"    {outcomes[-1].verdict}: {outcomes[-1].words}", flush=True)
    except KeyboardInterrupt:
        status = 130
    found = {one.verdict for one in outcomes}
    text = summary(outcomes) + ("interrupted\n" if status else "")
    (work.folder / "summary.txt").write_text(text)
    (work.folder / "summary.json").write_text(json.dumps([vars(one) for one in outcomes], indent=1))
    print(f"\n{text}\nArchive: {pack(work.folder)}")
    return status or (1 if FAILED in found else 0 if PASSED in found else 3)


def prepare(version: str) -> int:
    """Install Ansible for another machine's Python, such as 3.12; return pip's exit status."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line.startswith(("ansible-core", "jinja2", "pyyaml", "rich"))]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--no-compile"]
    fitting = ["--only-binary=:all:", f"--python-version={version}", f"--target={VENDORED}"]
    return subprocess.call([*pip, *fitting, *pins])


if __name__ == "__main__":
    sys.exit(main())
