"""The trials: all need the interpreter with PyTorch, those with playbooks Ansible too."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.node import nvidia_smi
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import descendants
from ansible_collections.scalebench.core.plugins.module_utils.node.sampler import Sampler

from gpu_check import judge
from gpu_check.judge import FailedError, SkippedError
from gpu_check.work import ROOT, Sizes, Trial, Work, free_port

RANKS = str(Path(__file__).with_name("ranks.py"))
# What a reader of the archive wants to know of the machine; those with nvidia need the driver.
FACTS = (
    *("nvidia-smi -q -x", "nvidia-smi --help-query-gpu", "nvidia-smi --help-query-compute-apps"),
    *("nvidia-smi topo -m", "cat /proc/driver/nvidia/version", "nvcc --version", "dmesg", "lscpu"),
    *("ls -l /dev", "cat /proc/meminfo /proc/self/limits"),
)
PYTORCH = "import torch; print(torch.__config__.show(), 'usable:', torch.cuda.is_available())"
# What Triton needs, and so torch.compile.
COMPILER = """import os, shutil, subprocess, sysconfig
compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang") or "no C compiler"
header = ["-I", sysconfig.get_path("include"), "-include", "Python.h"]
subprocess.run([compiler, *header, "-fsyntax-only", "-x", "c", "/dev/null"], check=True)"""
PAIRS = 3  # of a run under bench.yml and one without
SOON = 30  # seconds in which something starts or ends


def facts(work: Work) -> str:
    missing = []
    smi = nvidia_smi.find() or "nvidia-smi"
    for line in FACTS:
        command = [word.replace("nvidia-smi", smi) for word in line.split()]
        try:
            work.command(line, command, 30, **nvidia_smi.environment(smi))
        except FailedError:
            missing.append(line)
    usable = work.command("torch", [work.python, "-c", PYTORCH], 90).rstrip().endswith("True")
    words = f"saved all but {missing}; PyTorch can use a GPU: {usable}"
    if work.device == "gpu" and (not usable or FACTS[0] in missing):
        raise FailedError(words)
    return words


def fields(work: Work) -> str:
    answers = {name: nvidia_smi.ask(name, asked) for name, asked in nvidia_smi.FIELDS.items()}
    (work.outputs / "fields.json").write_text(json.dumps(answers, indent=1))
    return judge.known_fields(answers)


def sampled(work: Work, busy: bool) -> str:
    """Sample as a repeat's supervisor does, idle for some seconds or beside a training."""
    options = [f"--batch-size={work.sizes.batches[-1]}", f"--precision={work.sizes.precision}"]
    command = work.trainer(*options) if busy else ["sleep", "5"]
    process, sampler = work.start("sampler", command), Sampler(0.2, [0])

    def ended() -> bool:
        sampler.sample(time.monotonic())
        return process.poll() is not None

    work.wait("the end of the training", ended, 90)
    found = sampler.summary()
    (work.outputs / f"sampler-{busy=}.json").write_text(json.dumps(found, indent=1))
    if process.returncode:
        raise FailedError(f"the training ended with exit code {process.returncode}")
    return judge.telemetry(found, work.device == "gpu", busy)


def preflight(work: Work) -> str:
    work.play("provision", "provision")
    path = work.outputs / "preflight.json"
    work.play("preflight", "preflight", preflight_file=str(path))
    read = json.loads(path.read_text())
    warned = [f"{row['check']}: {row['found']}" for row in read["rows"] if row["verdict"] == "warn"]
    return "; ".join([read["summary"], *warned])


def cells(work: Work, campaign: str) -> Any:
    return json.loads((work.folder / f"campaigns/{campaign}/results.json").read_text())["cells"]


def records(work: Work, campaign: str) -> list[dict[str, Any]]:
    paths = (work.folder / "campaigns" / campaign).rglob("*.run.json")
    return [json.loads(path.read_text()) for path in sorted(paths)]


def bench(work: Work, campaign: str, repeats: int = 1, **more: Any) -> str:
    """Run a campaign, whose cells must all have their repeats."""
    work.play("bench", f"bench {campaign}", campaign=campaign, repeats=repeats, **more)
    return judge.measured(cells(work, campaign), repeats)


def report(work: Work) -> str:
    before = cells(work, "matrix")
    work.play("report", "report", campaign="matrix")
    if cells(work, "matrix") != before:
        raise FailedError("report.yml gives other results than bench.yml")
    return "the results of bench.yml"


def squatted(work: Work) -> str:
    """Have another process use the device."""
    process = work.start("squatter", [work.python, RANKS, "squat"])
    work.wait("the squatter", lambda: b"holding" in process.output.read_bytes(), SOON)
    listed = work.device != "gpu" or bool(nvidia_smi.processes("--id=0"))
    # Long enough for a share of CPU time to be told where there is no GPU.
    long = work.sizes.iterations * (1 if work.device == "gpu" else 30)
    given = {"campaign": "squatted", "repeats": 1, "precision": "fp32", "iterations": long}
    with contextlib.suppress(FailedError):  # a preflight that fails ends it
        work.play("bench", "bench squatted", **given)
    verdicts = json.loads((work.folder / "campaigns/squatted/preflight.json").read_text())
    return judge.noticed(verdicts["rows"], records(work, "squatted"), listed)


def killed(work: Work) -> str:
    """Kill the trainer of the first repeat, the controller in the second, and resume."""
    given: dict[str, Any] = {"campaign": "killed", "repeats": 2, "precision": work.sizes.precision}
    given |= {"preflight": False, "campaign_retry": {"attempts": 1}}
    given["iterations"] = 150 if work.device == "gpu" else 30  # some 15 s, or 5
    command, environment = work.playbook("bench", **given)
    process = work.start("bench killed", command, **environment)

    def steps() -> bool:
        logs = (work.folder / "state/nodes").glob("*/runs/killed/**/*_1.log")
        return any("\niteration 1 " in log.read_text(errors="replace") for log in logs)

    work.wait("the first step of a training", steps, 2 * SOON)
    os.kill(training()[-1].pid, signal.SIGKILL)
    work.wait("a record, then a training", lambda: records(work, "killed") and training(), 2 * SOON)
    (first,) = records(work, "killed")
    os.kill(process.pid, signal.SIGKILL)
    began = time.monotonic()
    work.wait("the end of the training", lambda: not training(), SOON)
    seconds = time.monotonic() - began
    if first["ending"] != "crashed":
        raise FailedError(f"the trainer was killed, and its ending is {first['ending']}")
    words = bench(work, **given)
    return f"{first['reason']}; all ended {seconds:.1f} s after the controller; resumed: {words}"


def overhead(work: Work) -> str:
    """Measure under bench.yml and without, by turns."""
    options = [f"--precision={work.sizes.precision}", f"--batch-size={work.sizes.batches[-1]}"]
    ours, bare = [], []
    for number in range(PAIRS):
        bare.append(work.train("bare", *options))
        given: dict[str, Any] = {"precision": work.sizes.precision, "preflight": False}
        bench(work, f"pair{number}", **given)
        ours.append(float(cells(work, f"pair{number}")[0]["median_speed"]))
    # So few iterations on a CPU that others use say nothing.
    return judge.ratio(ours, bare, judge.GOAL if work.device == "gpu" else 0)


def largest(work: Work) -> str:
    given: dict[str, Any] = {"precision": work.sizes.precision, "warmup": 2, "iterations": 10}
    return bench(work, "largest", batch_size_per_device="max", preflight=False, **given)


def group(work: Work, backend: str, world: int) -> str:
    """Train ranks that are a group, all on one device, through the trainer's own distribute."""
    backend = backend if work.device == "gpu" else "gloo"
    sizes = (free_port(), work.sizes.iterations, work.sizes.batches[0] // world, work.sizes.image)
    words = [str(world), backend, work.device, *map(str, sizes)]
    more = {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "1"}
    for rank in range(1, world):
        work.start(f"rank {rank}", [work.python, RANKS, str(rank), *words], **more)
    name = f"rank 0 of {world} over {backend}"
    text = work.command(name, [work.python, RANKS, "0", *words], 120, **more)
    return next(line for line in text.splitlines() if line.endswith("weights equal"))


def nccl_tests(work: Work) -> str:
    program = os.environ.get("ALL_REDUCE_PERF") or shutil.which("all_reduce_perf")
    if not program:
        raise SkippedError("no all_reduce_perf in PATH or ALL_REDUCE_PERF: build nccl-tests")
    sizes = ["-b", "8", "-e", "256M", "-f", "2", "-g", "1"]
    return judge.bus_bandwidth(work.command("nccl-tests", [program, *sizes], 120))


def require(work: Work, what: str, program: str) -> None:
    """Skip a trial where the interpreter lacks something."""
    try:
        work.command(what, [work.python, "-c", program], 60)
    except FailedError as error:
        raise SkippedError(f"{work.python} needs {what}: {error}") from None


def data_set(work: Work) -> list[str]:
    """Create the small set, once; return the trainer's options for it."""
    folder = work.folder / "data/small"
    folder.parent.mkdir(exist_ok=True)
    require(work, "Pillow", "import PIL")
    counts = [f"--train={work.sizes.images}", f"--validation={work.sizes.images // 4}"]
    program = str(ROOT / "workloads/dataset/make_small.py")
    work.command("make_small", [work.python, program, *counts, str(folder)], 120)
    return ["--data=real", f"--data-dir={folder}"]


def real_data(work: Work, backend: str) -> str:
    if backend == "dali":
        require(work, "DALI", "import nvidia.dali.plugin.pytorch")
    workers = min(16, len(os.sched_getaffinity(0)))
    options = [f"--precision={work.sizes.precision}", f"--batch-size={work.sizes.batches[0]}"]
    options += [f"--data-backend={backend}", f"--workers={workers}", *data_set(work)]
    return f"{work.train(f'real data {backend}', *options):.1f} images/s, {workers} readers"


def target(work: Work) -> str:
    """Train some epochs of the small set with evaluations, as recipe time_to_train."""
    options = [f"--epochs={6 if work.device == 'gpu' else 1}", "--target-accuracy=70"]
    options += ["--mode=train_and_evaluate", "--learning-rate=0.01", "--batch-size=15"]
    options += [f"--precision={work.sizes.precision}", "--image-size=32", *data_set(work)]
    command = [word for word in work.trainer(*options) if not word.startswith("--iterations")]
    return judge.accuracy(work.command("time to train", command, 120))


def training() -> list[Any]:
    """Return the processes of a training below this one, the rank last."""
    return [one for one in descendants(os.getpid()) if "train_pytorch.py" in one.command]


def trainings(sizes: Sizes) -> list[Trial]:
    """Return the trainings without a launcher of parts A and C."""

    def trial(part: str, name: str, precision: str, batch: int, *more: str) -> Trial:
        options = [f"--precision={precision}", f"--batch-size={batch}", *more]
        limit = 200 if "--compile" in more else 90

        def run(work: Work) -> str:
            if "--compile" in more:
                require(work, "a C compiler and Python.h", COMPILER)
            return f"{work.train(name, *options, limit=limit):.1f} images/s"

        return Trial(part, name, run, "for GPUs" if part == "C" or precision == "tf32" else "")

    return [
        *(
            trial("A", f"{precision} bz{batch} {layout}", precision, batch, f"--{layout}")
            for batch in sizes.batches
            for precision in ("tf32", "fp32", "amp", "bf16")
            for layout in ("channels-last", "no-channels-last")
        ),
        *(
            trial("C", f"{name or 'eager'} bz{batch}", "amp", batch, *filter(None, [name]))
            for batch in (sizes.batches[-1], 32)
            for name in ("", "--cuda-graphs", "--compile")
        ),
    ]


def all_trials(sizes: Sizes) -> list[Trial]:
    """Return the trials in their order: those that others need first, the longest last."""
    both: dict[str, Any] = {"precision": "fp32,amp", "repeats": 3}
    return [
        Trial("A", "facts", facts),
        Trial("A", "fields of nvidia-smi", fields, "for GPUs"),
        Trial("A", "sampler, idle", lambda work: sampled(work, False)),
        Trial("A", "sampler, training", lambda work: sampled(work, True)),
        Trial("B", "provision, preflight", preflight),
        Trial("B", "bench.yml", lambda work: bench(work, "matrix", **both)),
        Trial("B", "report.yml", report),
        Trial("B", "squatter", squatted),
        Trial("B", "kill and resume", killed),
        Trial("B", "bench.yml / bare trainer", overhead),
        Trial("C", "NCCL group of one", lambda work: group(work, "nccl", 1)),
        Trial("C", "two gloo ranks", lambda work: group(work, "gloo", 2)),
        Trial("C", "nccl-tests", nccl_tests, "for GPUs"),
        Trial("C", "real data", lambda work: real_data(work, "native")),
        Trial("C", "real data, DALI", lambda work: real_data(work, "dali"), "for GPUs"),
        Trial("C", "time to train", target),
        *trainings(sizes),
        # Of the playbooks, but part B has no time left for it.
        Trial("A", "largest batch", largest, "limited by the memory of a GPU"),
    ]
