"""Telemetry of a repeat on this node, sampled by its supervisor."""

from __future__ import annotations

import glob
import resource
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, TypeVar

from ..telemetry.telemetry import Telemetry
from .gpus import GpuSampler, find_nvml
from .kernel_counters import first_number, kernel_counters, numbers, read_text

__all__ = ["Sampler", "gauges", "spread_out"]

# On kernels before 5.18 reading the clock of an idle core can take 10 ms.
_CORES_SAMPLED = 8
# Seconds to wait for a sample of the GPUs; a driver that is being opened takes longer.
_PATIENCE = 0.2
_Answer = TypeVar("_Answer")


class Sampler:
    """The telemetry of one repeat, sampled by the process that starts it.

    It is created before the first process of the repeat, and ``summary`` is called after the last
    one was waited for.

    :param interval: seconds between two samples.
    :param gpus: indices of the repeat's GPUs; None for all of the node.
    """

    def __init__(self, interval: float, gpus: Optional[Sequence[int]] = None) -> None:
        self.interval = interval
        self._indices = gpus
        self._cpu_seconds = 0.0
        self._own_before = _children_seconds()
        start = time.thread_time()
        self._clocks = spread_out(
            sorted(glob.glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
        )
        self._gpus: Optional[GpuSampler] = None
        self._of_gpus: Deque[Any] = deque()
        self._driver = _Calls()
        self._telemetry = Telemetry(interval, _counters())
        self._due = self._looked = time.monotonic()
        self._longest_pause = 0.0
        self._cpu_seconds += time.thread_time() - start

    def sample(self, now: float) -> None:
        """Take a sample, if one is due.

        :param now: seconds of the monotonic clock. The longest time between two calls, without that
            of sampling, is kept: this process is stopped together with the repeat.
        """
        self._longest_pause = max(self._longest_pause, now - self._looked)
        self._looked = now
        if now < self._due:
            return
        self._due = now + self.interval
        start = time.thread_time()
        self._driver.answer(self._sample_gpus, _PATIENCE)
        self._telemetry.add({**gauges(self._clocks), "gpus": self._told_of_gpus()})
        self._cpu_seconds += time.thread_time() - start
        self._looked = time.monotonic()

    def _sample_gpus(self) -> None:
        if self._gpus is None:
            # Only now that the repeat runs: without persistence mode opening the driver takes
            # seconds.
            self._gpus = GpuSampler(*find_nvml(), self._indices)
        self._of_gpus.extend(self._gpus.sample().get("gpus", ()))

    def _told_of_gpus(self) -> List[Any]:
        """Return the samples since the last call: what comes late has codes of errors too."""
        return [self._of_gpus.popleft() for _ in range(len(self._of_gpus))]

    def summary(self) -> Dict[str, Any]:
        """Return ``Telemetry.summary``, and in ``gpu`` why GPUs were not sampled.

        ``longest_pause_seconds`` is the longest time in which this process did not look.
        """
        start = time.thread_time()
        after = _counters()
        own_seconds = _children_seconds() - self._own_before
        reason = self._driver.answer(self._close_gpus, 10 * _PATIENCE)
        if reason is None:
            reason = f"NVML has not answered for {10 * _PATIENCE:g} s"
        self._telemetry.add_gpus(self._told_of_gpus())
        sampling_seconds = self._cpu_seconds + self._driver.seconds + time.thread_time() - start
        summary = self._telemetry.summary(after, own_seconds, sampling_seconds)
        summary["longest_pause_seconds"] = round(self._longest_pause, 3)
        return {**summary, "gpu": f"not sampled: {reason}"} if reason else summary

    def _close_gpus(self) -> str:
        return self._gpus.close() if self._gpus else ""


class _Calls:
    """Calls of a driver, which may hang, each in a thread of its own, one at a time.

    A hanging call would hold up the time limits of the repeat. ``seconds`` is their CPU time. One
    that hangs in the kernel for good still keeps this process from its end.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._thread: Optional[threading.Thread] = None

    def answer(self, call: Callable[[], _Answer], patience: float) -> Optional[_Answer]:
        """Return what a call returns; None if it, or the one before, hangs for some seconds."""
        end = time.monotonic() + patience
        if self._thread:
            self._thread.join(patience)
            if self._thread.is_alive():
                return None
        answers: List[_Answer] = []

        def run() -> None:
            start = time.thread_time()
            answers.append(call())
            self.seconds += time.thread_time() - start

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        self._thread.join(max(0.0, end - time.monotonic()))
        return answers[0] if answers else None


def gauges(clocks: List[str], proc: str = "/proc") -> Dict[str, float]:
    """Return the current ``load``, ``memory_used_mib`` and mean ``cpu_mhz``, where available.

    :param clocks: files with a core's clock in kHz.
    """
    sample: Dict[str, float] = {}
    load = first_number(f"{proc}/loadavg")
    if load is not None:
        sample["load"] = load
    memory = dict(line.split(":", 1) for line in read_text(f"{proc}/meminfo").splitlines())
    if "MemTotal" in memory and "MemAvailable" in memory:
        total, available = (int(memory[f"Mem{kind}"].split()[0]) for kind in ("Total", "Available"))
        sample["memory_used_mib"] = (total - available) / 1024
    kilohertz = numbers(clocks)
    if kilohertz:
        sample["cpu_mhz"] = sum(kilohertz) / len(kilohertz) / 1000
    return sample


def spread_out(paths: List[str]) -> List[str]:
    """Return at most eight of the paths, evenly spread, so that every socket is represented."""
    step = max(1, len(paths) / _CORES_SAMPLED)
    return [paths[int(n * step)] for n in range(min(_CORES_SAMPLED, len(paths)))]


def _counters() -> Dict[str, Any]:
    counters = {"time": time.monotonic(), **kernel_counters()}
    load = first_number("/proc/loadavg")
    if load is not None:
        counters["load"] = load
    return counters


def _children_seconds() -> float:
    """Return the CPU seconds of all descendants that were waited for, by getrusage(2)."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
