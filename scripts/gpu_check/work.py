"""Running the trials: commands with a time limit, their outputs in one folder, one archive."""

from __future__ import annotations

import json
import math
import os
import shlex
import socket
import subprocess
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.node.processes import (
    adopt_orphans,
    descendants,
    end_processes,
    end_with_parent,
)

from gpu_check.judge import FAILED, PASSED, SKIPPED, FailedError, Outcome, SkippedError, throughput

ROOT = Path(__file__).resolve().parents[2]
VENDORED = ROOT / ".state/gpu-check/site"


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
        self.sizes, self.port, self.until = SIZES[device], free_port(), math.inf
        self.environment = dict(os.environ)
        if device == "gpu":
            # The GPU that bench.yml takes for 1n1g.
            self.environment |= {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0"}
        # What a command leaves behind becomes a child of this process, which ends it.
        adopt_orphans()

    def begin(self, part: str) -> None:
        """Give a part its folder and its time."""
        self.until = time.monotonic() + self.seconds
        self.outputs = self.folder / part
        self.outputs.mkdir(parents=True)

    def ask(self, command: list[str], **more: str) -> str | None:
        """Return what a command prints; None where it fails, or takes longer than a minute."""
        limit = min(60, max(1, self.until - time.monotonic()))
        given: Any = {"cwd": ROOT, "stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        try:
            return subprocess.check_output(
                command, env=self.environment | more, text=True, timeout=limit, **given
            ).strip()
        except (OSError, subprocess.SubprocessError):
            return None

    def start(self, name: str, command: list[str], **more: str) -> Any:
        """Start a command; return it, with the path of its output as ``output``."""
        number = len(list(self.outputs.glob("*.txt")))
        path = self.outputs / f"{number:02} {name.replace('/', '_')}.txt"
        with path.open("wb") as file:
            file.write(f"$ {shlex.join(command)}\n".encode())
            file.flush()
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.environment | more,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=partial(end_with_parent, os.getpid()),  # noqa: PLW1509 - no threads here
            )
        process.output = path
        return process

    def wait(self, what: str, condition: Callable[[], Any], limit: float) -> None:
        """Wait until something is so.

        :param limit: seconds until it is given up; the part may have less left.
        :raises SkippedError: the part's time is over.
        :raises FailedError: the limit is exceeded.
        """
        began = time.monotonic()
        while not condition():
            seconds = time.monotonic() - began
            if began + seconds > self.until:
                raise SkippedError(f"the time of this part was over after {seconds:.0f} s")
            if seconds > limit:
                raise FailedError(f"waited {seconds:.0f} s in vain for {what}")
            time.sleep(0.05)

    def command(self, name: str, command: list[str], limit: float, **more: str) -> str:
        """Run a command to its end and return its output.

        :param limit: seconds, as of :meth:`wait`.
        :raises FailedError: it cannot start, exceeds the limit, or fails.
        """
        try:
            process = self.start(name, command, **more)
        except OSError as error:
            raise FailedError(f"{command[0]}: {error.strerror}") from None
        self.wait("its end", lambda: process.poll() is not None, limit)
        text: str = process.output.read_text(errors="replace").partition("\n")[2]
        if process.returncode:
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
            **variables,
        }
        # Of a campaign, which report.yml refuses.
        options = {
            "image_size": self.sizes.image,
            "warmup": self.sizes.warmup,
            "iterations": self.sizes.iterations,
            "topology": "1n1g",
            "batch_size_per_device": self.sizes.batches[-1],
        }
        given = given if name == "report" else {**options, **given}
        more = {
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_HOME": str(self.folder / "state/ansible"),  # the user's may be read-only
            "LC_ALL": "C.UTF-8",  # Ansible refuses others, and a container may have none
        }
        theirs = os.environ.get("PYTHONPATH", "")
        vendored = f"{VENDORED}:{theirs}".rstrip(":")
        own = str(ROOT / ".venv/bin/python")
        for python, path in ((own, theirs), (self.python, theirs), (self.python, vendored)):
            more["PYTHONPATH"] = path
            if self.ask([python, "-c", "import ansible.cli.playbook, rich"], **more) is None:
                continue
            run = [python, "-m", "ansible", "playbook"]
            book = ["-i", "inventory/this_machine", f"playbooks/{name}.yml"]
            return [*run, *book, "-e", json.dumps(given)], more
        raise SkippedError(
            f"no Ansible in .venv, {self.python} or {VENDORED}: run scripts/gpu-check prepare where"
            " there is an index, and bring .state/gpu-check along"
        )

    def play(self, name: str, trial: str, **variables: Any) -> None:
        """Run a playbook on this machine."""
        command, environment = self.playbook(name, **variables)
        self.command(trial, command, 400, **environment)


def free_port() -> int:
    """Return a port on which nothing listens now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


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
