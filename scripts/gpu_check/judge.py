"""What the outputs of a trial mean. Pure; raises FailedError with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.evidence.fingerprint import GPU_QUERY
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from ansible_collections.scalebench.core.plugins.module_utils.layout.table import text_table

PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"
GOAL = 0.99  # throughput under bench.yml over that of the bare trainer
BUSY_PERCENT = 50  # least of the highest utilisation of a GPU that trains


class FailedError(Exception):
    """The trial failed."""


class SkippedError(Exception):
    """The trial cannot be made here."""


@dataclass(frozen=True)
class Outcome:
    """One row of the table; ``words`` has what was measured, or the reason."""

    part: str
    trial: str
    verdict: str
    seconds: int
    words: str


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return the table of all trials, and how many of them ended how."""
    rows = [{**vars(one), "words": one.words[:150]} for one in outcomes]
    found = [one.verdict for one in outcomes]
    counts = ", ".join(f"{found.count(word)} {word}" for word in (PASSED, FAILED, SKIPPED))
    return f"{text_table(rows, list(Outcome.__annotations__))}\n\n{counts}\n"


def throughput(log: str, warmup: int, iterations: int) -> float:
    """Return images/s after the warm-up, by the rule of a campaign."""
    try:
        rule = {"warmup": warmup, "iterations": iterations}
        facts = facts_of_text(log, "mean_after_warmup", rule)
    except ValueError as error:
        raise FailedError(str(error)) from None
    if facts["throughput"] is None:
        raise FailedError(facts["reason"])
    return float(facts["throughput"])


def accuracy(log: str) -> str:
    """Return the best accuracy of a training with evaluations, and how long it took."""
    reached = facts_of_text(log, "auto")["time_to_train"]
    if not reached or reached["best_accuracy"] is None:
        raise FailedError("the log has no evaluation")
    return f"best accuracy {reached['best_accuracy']:.1f} % in {reached['total_time']:.0f} s"


def ratio(campaign: Sequence[float], bare: Sequence[float], goal: float = GOAL) -> str:
    """Compare the medians of throughputs taken by turns."""
    share = median(campaign) / median(bare)
    spread = max((max(runs) - min(runs)) / median(runs) for runs in (campaign, bare))
    words = f"{median(campaign):.1f} / {median(bare):.1f} images/s = {share:.3f}, goal {goal}"
    if share < goal:
        raise FailedError(words)
    return f"{words}; range of either up to {spread:.1%}"


def known_fields(answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Tell which fields nvidia-smi does not know.

    :param answers: by switch, its rows by field; None for a field that is not known.
    """
    if not answers["--query-gpu"]:
        raise FailedError("nvidia-smi lists no GPU")
    asked = {f"{switch}={name}": text for switch, rows in answers.items() for row in rows
             for name, text in row.items()}  # fmt: skip
    unknown = sorted(name for name, text in asked.items() if text is None)
    words = f"{len(asked)} fields asked, unknown: {', '.join(unknown) or 'none'}"
    if any(f"--query-gpu={name}" in unknown for name in GPU_QUERY):
        raise FailedError(words)
    return words


def telemetry(found: Mapping[str, Any], on_gpu: bool, busy: bool) -> str:
    """Judge the summary of a sampler; ``busy`` where a training ran meanwhile."""
    words = f"{found['samples']} samples in {found['sampling_seconds']:.3f} s of CPU time"
    if not found["samples"] or (on_gpu and "gpus" not in found):
        raise FailedError(f"{words}; {found.get('gpu', 'no GPU was sampled')}")
    if not on_gpu:
        return words
    gpu = found["gpus"][0]
    means = {name: value["mean"] for name, value in gpu.items() if "mean" in str(value)}
    words += f"; means {means}"
    if not {"utilisation", "memory_used_mib", "power_w"} <= set(means):
        raise FailedError(f"{words}: figures are missing")
    if busy and gpu["utilisation"]["max"] < BUSY_PERCENT:
        raise FailedError(f"{words}: a GPU that trains looks idle")
    return words


def measured(cells: Sequence[Mapping[str, Any]], repeats: int) -> str:
    """Return the throughputs of a campaign, in which every cell must be whole."""
    words = "; ".join(
        f"{cell['precision']} bz{cell['batch_size_per_device']}: {cell['median_speed']} images/s,"
        f" n={len(cell['repeats'])} of {repeats}, {cell['state']}"
        for cell in cells
    )
    whole = [cell["state"] == "measured" and len(cell["repeats"]) == repeats for cell in cells]
    if not whole or not all(whole):
        raise FailedError(words or "the campaign has no cell")
    return words


def bus_bandwidth(text: str) -> str:
    """Return the last lines of a program of nccl-tests (its src/common.cu prints them)."""
    found = re.search(r"# Avg bus bandwidth\s*: ([\d.]+)", text)
    wrong = re.search(r"# Out of bounds values : (\d+) (\w+)", text)
    if not found or not wrong or wrong[2] != "OK":
        raise FailedError(wrong[0] if wrong else "it printed no result")
    return f"mean bus bandwidth {found[1]} GB/s, no value out of bounds"


def noticed(
    rows: Iterable[Mapping[str, str]], records: Iterable[Mapping[str, Any]], listed: bool
) -> str:
    """Tell where another process was noticed: rows of a preflight, records of repeats.

    :param listed: whether this machine tells which processes use the device.
    """
    words = [f"preflight {row['verdict']}: {row['found']}" for row in rows
             if row["check"] == "GPU processes" and row["verdict"] in ("fail", "warn")]  # fmt: skip
    for record in records:
        words += [one["detail"] for one in record["disturbances"] if one["kind"] == "other_process"]
        words += [record["reason"]] if "process" in record["reason"] else []
    if not words and not listed:
        raise SkippedError("nvidia-smi lists no process here, as in a container: cannot tell")
    if not words:
        raise FailedError("another process used the device, and nothing says so")
    return "; ".join(words)
