"""Running the trials: commands with a time limit, their outputs in one folder, one archive."""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import socket
import subprocess
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.node.processes import (
    descendants,
    end_processes,
)

from gpu_check.judge import FAILED, PASSED, SKIPPED, FailedError, Outcome, SkippedError, throughput

ROOT = Path(__file__).resolve().parents[2]
VENDORED = ROOT / ".state/gpu-check/site"
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Sizes:
    """How large the trials are on a device; ``images`` of the small set are those of a class."""

    precision: str
    batches: tuple[int, ...]
    image: int
    warmup: int
    iterations: int
    images: int


SIZES = {
    "gpu": Sizes("amp", (128, 256), 224, 10, 30, 200),
    "cpu": Sizes("fp32", (4,), 32, 1, 3, 4),
}


class Work:
    """What the trials of one call share.

    :param seconds: of a part; a trial that would begin later is skipped.
    """

    def __init__(self, python: str, device: str, folder: Path, seconds: float) -> None:
        self.python, self.device, self.folder, self.seconds = python, device, folder, seconds
        self.sizes = SIZES[device]
        self.port = free_port()
        # What a command leaves behind becomes a child of this process, which ends it.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.begin("A")

    def begin(self, part: str) -> None:
        """Give a part its folder and its time."""
        self.until = time.monotonic() + self.seconds
        self.outputs = self.folder / part
        self.outputs.mkdir(parents=True, exist_ok=True)

    def start(self, name: str, command: list[str], **environment: str) -> Any:
        """Start a command; return it, with the path of its output as ``output``."""
        number = len(list(self.outputs.glob("*.txt")))
        path = self.outputs / f"{number:02} {name.replace('/', '_')}.txt"
        with path.open("wb") as file:
            file.write(f"$ {shlex.join(command)}\n".encode())
            file.flush()
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        process.output = path
        return process

    def command(
        self,
        name: str,
        command: list[str],
        limit: float,
        codes: tuple[int, ...] = (0,),
        **more: str,
    ) -> str:
        """Run a command to its end and return its output.

        :param limit: seconds until it is given up; the part may have less left.
        :raises FailedError: it cannot start, exceeds the limit, or its exit code is not in `codes`.
        """
        limit = min(limit, max(1, self.until - time.monotonic()))
        try:
            process = self.start(name, command, **more)
            process.wait(limit)
        except OSError as error:
            raise FailedError(f"{command[0]}: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise FailedError(f"not done after {limit:.0f} s") from None
        text: str = process.output.read_text(errors="replace").partition("\n")[2]
        if process.returncode not in codes:
            last = text.strip().rpartition("\n")[2]
            raise FailedError(f"exit code {process.returncode}: {last}")
        return text

    def trainer(self, *options: str) -> list[str]:
        """Return the trainer's command without a launcher, as 1n1g of a campaign runs it."""
        sizes, program = self.sizes, str(ROOT / "workloads/resnet50/train_pytorch.py")
        given = [f"--image-size={sizes.image}", f"--warmup={sizes.warmup}"]
        given += [f"--iterations={sizes.iterations}", f"--device={self.device}"]
        return [self.python, "-u", program, *given, *options]

    def train(self, name: str, *options: str, limit: float = 90) -> float:
        """Train without a launcher; return images/s."""
        log = self.command(name, self.trainer(*options), limit, OMP_NUM_THREADS="1")
        return throughput(log, self.sizes.warmup, self.sizes.iterations)

    def playbook(self, name: str, **variables: Any) -> tuple[list[str], dict[str, str]]:
        """Return the command of a playbook on this machine, and its environment.

        :raises SkippedError: no interpreter has Ansible.
        """
        given = {
            "scalebench_state_dir": str(self.folder / "state"),
            "campaign_results_dir": str(self.folder / "campaigns"),
            "framework_python": self.python,
            "campaign_rank_port": self.port,
            "scalebench_gpus": self.device == "gpu",
            "report_plots": False,
            "image_size": self.sizes.image,
            "warmup": self.sizes.warmup,
            "iterations": self.sizes.iterations,
            "topology": "1n1g",
            "batch_size_per_device": self.sizes.batches[-1],
            **variables,
        }
        own = str(ROOT / ".venv/bin/python")
        for python, path in ((own, ""), (self.python, ""), (self.python, str(VENDORED))):
            more = {"PYTHONPATH": path, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
            more["LC_ALL"] = "C.UTF-8"  # Ansible refuses others, and a container may have none
            probe = [python, "-c", "import ansible.cli.playbook, rich"]
            try:
                subprocess.run(probe, env={**os.environ, **more}, capture_output=True, check=True)
            except (OSError, subprocess.CalledProcessError):
                continue
            run = [python, "-m", "ansible", "playbook"]
            book = ["-i", "inventory/this_machine", f"playbooks/{name}.yml"]
            return [*run, *book, "-e", json.dumps(given)], more
        raise SkippedError(
            f"no Ansible in .venv, {self.python} or {VENDORED}: run scripts/gpu-check prepare where"
            " there is an index, and bring .state/gpu-check along"
        )

    def play(self, name: str, trial: str, codes: tuple[int, ...] = (0,), **variables: Any) -> None:
        """Run a playbook on this machine."""
        command, environment = self.playbook(name, **variables)
        self.command(trial, command, 400, codes, **environment)


def free_port() -> int:
    """Return a port on which nothing listens now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@dataclass(frozen=True)
class Trial:
    """What ``run`` returns was measured; ``gpu_only`` is why a machine without a GPU skips it."""

    part: str
    name: str
    run: Callable[[Work], str]
    gpu_only: str = ""


def attempt(trial: Trial, work: Work) -> Outcome:
    """Make one trial; whatever happens in it is its outcome, and nothing that it started stays."""
    began = time.monotonic()
    try:
        if trial.gpu_only and work.device != "gpu":
            raise SkippedError(trial.gpu_only)
        if began > work.until:
            raise SkippedError("the time of this part is over")
        verdict, words = PASSED, trial.run(work)
    except SkippedError as error:
        verdict, words = SKIPPED, str(error)
    except FailedError as error:
        verdict, words = FAILED, str(error)
    except Exception as error:
        # A fault of the trial itself must not cost the others.
        verdict, words = FAILED, f"{type(error).__name__}: {error}"
    finally:
        end_processes(lambda: descendants(os.getpid()))
    return Outcome(trial.part, trial.name, verdict, round(time.monotonic() - began), words)


def pack(folder: Path) -> Path:
    """Pack the outputs, without the data set and the playbooks' own state; return the archive."""
    archive = folder.with_name(f"{folder.name}.tar.gz")
    with tarfile.open(archive, "w:gz") as tar:
        for path in sorted(folder.iterdir()):
            if path.name not in ("state", "data"):
                tar.add(path, f"{folder.name}/{path.name}")
    return archive
