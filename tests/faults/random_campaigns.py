"""Random campaigns with random faults; the same seed gives the same campaign."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import campaign_data
import slurm_stand_ins
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import marked
from ansible_collections.scalebench.core.plugins.module_utils.records.endings import ending_names
from campaign_driver import Campaign

HERE = Path(__file__).parent
RETRIABLE = ending_names(retriable=True)
REPORT_LINES = HERE.parents[1] / "workloads/common/report_lines.py"
BENCHMARK = {
    "benchmark": "small",
    "model": "r50",
    "recipes": {
        "portable": {
            "framework": "small_workload",
            "launcher": "torchrun",
            "workload": "small_workload.py",
            "choices": {
                "precision": ["fp32", "amp"],
                "data": ["synthetic"],
                "data_backend": ["native"],
                "xla": [False],
            },
            "defaults": {
                "cpu": {
                    "precision": ["fp32"],
                    "batch_size_per_device": [4],
                    "topology": ["1n1g"],
                }
            },
            "arguments": [
                "--batch-size={batch_size_per_device}",
                "--precision={precision}",
                "--warmup={warmup}",
                "--iterations={iterations}",
            ],
        }
    },
}
# Each of these happens in 3 of 100 starts; the slow ones, which cost seconds of waiting, are rarer.
QUICK = ("crash", "die", "nan", "memory", "cut", "silent", "child", "supervisor", "interrupt")
SLOW = {"hang": 0.8, "endless": 0.8, "deaf": 0.4}
# A batch size that no plan here requests.
NO_MEMORY_LIMIT = 1000


def random_campaign(seed: int, folder: Path, carrier: str) -> Campaign:
    """Return a campaign whose nodes, with their faults, are installed below ``folder``."""
    rng = random.Random(seed)
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks/small.yml").write_text(yaml.safe_dump(BENCHMARK), encoding="utf-8")
    nodes = campaign_data.cluster(rng.choice((1, 1, 2, 2, 2, 3, 4)), devices=rng.choice((1, 2)))
    for name, node in nodes.items():
        _install(folder / name)
        node["pythons"] = {"small_workload": str(folder / name / "small_workload")}
        node["unusable"] = {}
    if rng.random() < 0.05:
        nodes[rng.choice(list(nodes))]["unusable"] = {"small_workload": "it is not installed"}
    has_faults = rng.random() < 0.9
    campaign = Campaign(
        seed=seed,
        folder=folder,
        nodes=nodes,
        options=_options(rng, len(nodes)),
        retry={
            "endings": rng.sample(RETRIABLE, rng.randint(1, len(RETRIABLE))),
            "attempts": rng.randint(1, 3),
            "give_up_after": rng.randint(1, 6),
        },
        requeue=rng.choice((0, 0, 1)),
        timeout=4.0,
        sample_interval=rng.choice((0, 0, 0.3)),
        # By Slurm, its programs say what is lost.
        unreachable=0.02 if has_faults and carrier == "ssh" else 0.0,
        throttled=rng.choice((0.0, 0.3)),
        carrier=carrier,
    )
    limit = rng.choice((NO_MEMORY_LIMIT, NO_MEMORY_LIMIT, 3, 6))
    if "max" in campaign.options["batch_size_per_device"]:
        limit = rng.randint(1, 12)
    for name in nodes:
        words = _faults(rng) if has_faults else ""
        (folder / name / "faults").write_text(words, encoding="utf-8")
        (folder / name / "memory").write_text(str(limit), encoding="utf-8")
    if carrier == "slurm":
        slurm_stand_ins.install(campaign.slurm, rng, has_faults)
    return campaign


def _install(folder: Path) -> None:
    """Install the workload in a node's folder."""
    folder.mkdir()
    python = Path(sys.executable).resolve()
    text = (HERE / "small_workload.py").read_text(encoding="utf-8")
    program = folder / "small_workload"
    program.write_text(f"#!{python} -SEB\n{text}", encoding="utf-8")
    program.chmod(0o755)
    (folder / "report_lines.py").write_bytes(REPORT_LINES.read_bytes())
    (folder / "starts").touch()


def _options(rng: random.Random, nodes: int) -> dict[str, Any]:
    topologies = [f"{count}n1g" for count in range(1, nodes + 1)]
    options = {
        "benchmark": "small",
        "warmup": 1,
        "iterations": rng.randint(2, 4),
        "topology": rng.sample(topologies, rng.randint(1, min(2, nodes))),
        "batch_size_per_device": rng.choice(([4], [4], [4], [4, 8], [8, 2], ["max"])),
        "precision": rng.choice((["fp32"], ["fp32"], ["fp32"], ["fp32", "amp"])),
        "repeats": rng.choice((1, 1, 1, 2, 2, 3)),
        "packing": rng.choice(("none", "nodes", "devices")),
    }
    if rng.random() < 0.1:
        # So narrow that it is reached before the maximum only by chance.
        options.update(half_width=0.05, max_repeats=7, topology=["1n1g"], batch_size_per_device=[4])
    return options


def _faults(rng: random.Random) -> str:
    """Return the faults of the first 60 starts on a node; about every fourth start has one."""
    weights = {**dict.fromkeys(QUICK, 3), **SLOW, "none": 73 - sum(SLOW.values())}
    words = rng.choices(list(weights), list(weights.values()), k=60)
    return " ".join(words)


def damage(campaign: Campaign, rng: random.Random) -> list[str]:
    """Damage the files of a campaign as a crash of the controller's machine may do.

    :returns: the runs whose record was cut in half.
    """
    records = sorted(campaign.results.glob("logs/**/*.run.json"))
    cut = []
    if records and rng.random() < 0.5:
        record = rng.choice(records)
        os.truncate(record, record.stat().st_size // 2)
        run = str(record.relative_to(campaign.results / "logs"))
        cut.append(run[: -len(".run.json")])
    if records and rng.random() < 0.5:
        record = rng.choice(records)
        log = record.with_suffix("").with_suffix(".log")
        for path in (record, log):
            path.with_name(path.name + ".part").write_text("half a", encoding="utf-8")
    return cut


def start_stray(campaign: Campaign, rng: random.Random) -> subprocess.Popen[bytes]:
    """Start a process like one that a killed supervisor leaves on a node."""
    work_dir = campaign.work_dir(rng.choice(list(campaign.nodes)))
    return subprocess.Popen(
        ["sleep", "600"],
        env={"SCALEBENCH_RUN": f"{work_dir}/runs/random/stray", "PATH": os.environ["PATH"]},
        start_new_session=True,
    )


def remove_faults(campaign: Campaign) -> None:
    """Remove all faults except the memory limit and missing installations."""
    campaign.unreachable = campaign.throttled = 0.0
    folders = [campaign.work_dir(node) for node in campaign.nodes]
    if campaign.carrier == "slurm":
        folders.append(campaign.slurm)
    for folder in folders:
        (folder / "faults").write_text("", encoding="utf-8")


def running_commands(campaign: Campaign) -> list[str]:
    """Return the command lines of running processes that the campaign's repeats have started."""
    return [process.command for process, _ in marked(str(campaign.folder))]


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process of ``start_stray`` if it is still running."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
