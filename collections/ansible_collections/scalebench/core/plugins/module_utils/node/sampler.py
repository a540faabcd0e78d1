"""Telemetry of a repeat on this node, sampled by its supervisor."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import resource
import select
import signal
import socket
import time
from typing import Any, Dict, List, NoReturn, Optional, Sequence

from ..telemetry.telemetry import Telemetry
from .gpus import GpuSampler, find_nvml
from .kernel_counters import first_number, kernel_counters, numbers, read_text
from .nvidia_smi import driver_paths
from .processes import end_with_parent, read_process

__all__ = ["Sampler", "gauges", "spread_out"]

# On kernels before 5.18 reading the clock of an idle core can take 10 ms.
_CORES_SAMPLED = 8
# Seconds to wait for a sample of the GPUs; a driver that is being opened takes longer.
_PATIENCE = 0.2
_SAMPLE, _CLOSE = b"s", b"c"
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Sampler:
    """The telemetry of one repeat, sampled by the process that starts it.

    It is created before the first process of the repeat, and ``summary`` is called after the last
    one was waited for.

    :param interval: seconds between two samples.
    :param gpus: indices of the repeat's GPUs; None for all of the node.
    """

    def __init__(self, interval: float, gpus: Optional[Sequence[int]] = None) -> None:
        self.interval = interval
        self._cpu_seconds = 0.0
        self._own_before = _children_seconds()
        start = time.thread_time()
        self._clocks = spread_out(
            sorted(glob.glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
        )
        self._driver = _Driver(gpus)
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
        answers = self._driver.ask(_SAMPLE, _PATIENCE)
        self._telemetry.add({**gauges(self._clocks), "gpus": _gpus_of(answers)})
        self._cpu_seconds += time.thread_time() - start
        self._looked = time.monotonic()

    @property
    def process(self) -> Optional[int]:
        """Return the process that samples the GPUs, which ends with ``summary``."""
        return self._driver.pid

    def summary(self) -> Dict[str, Any]:
        """Return ``Telemetry.summary``, and in ``gpu`` why GPUs were not sampled.

        ``longest_pause_seconds`` is the longest time in which this process did not look.
        """
        start = time.thread_time()
        after = _counters()
        own_seconds = _children_seconds() - self._own_before
        answers = self._driver.ask(_CLOSE, 10 * _PATIENCE) if self._driver.pid else [{"reason": ""}]
        hangs = self._driver.end()
        self._telemetry.add_gpus(_gpus_of(answers))
        unanswered = f"NVML has not answered for {10 * _PATIENCE:g} s{hangs}"
        if self._driver.ended:
            unanswered = "the process that calls NVML crashed or was ended"
        reason = answers[-1].get("reason", unanswered) if answers else unanswered
        sampling_seconds = self._cpu_seconds + self._driver.seconds + time.thread_time() - start
        summary = self._telemetry.summary(after, own_seconds, sampling_seconds)
        summary["longest_pause_seconds"] = round(self._longest_pause, 3)
        return {**summary, "gpu": f"not sampled: {reason}"} if reason else summary


def _gpus_of(answers: List[Dict[str, Any]]) -> List[Any]:
    """Return all samples: what comes late has codes of errors too."""
    return [gpu for answer in answers for gpu in answer.get("gpus", ())]


class _Driver:
    """A process that samples the GPUs, one question at a time.

    A call of a driver may hang: it would hold up the time limits of the repeat. One that hangs in
    the kernel for good would keep this process from its end, SIGKILL or not.

    ``pid`` is None before the first question, and without a driver; ``seconds`` is the CPU time of
    the process; ``ended`` is whether it was found to have ended by itself.
    """

    def __init__(self, indices: Optional[Sequence[int]]) -> None:
        self.pid: Optional[int] = None
        self.seconds = 0.0
        self.ended = False
        self._indices = indices
        self._ours, self._theirs = socket.socketpair()
        self._answers = self._ours.makefile("rb")
        self._asked = False

    def ask(self, question: bytes, patience: float) -> List[Dict[str, Any]]:
        """Return the answers, also of the question before, that come within some seconds.

        :param question: ``_SAMPLE`` or ``_CLOSE``.
        """
        if self.pid is None:
            if not driver_paths():
                return []
            # The handlers of this process, which end the repeat, are not for the other.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
            try:
                pid = os.fork()
                if pid == 0:
                    self._serve()
                # Before a signal is heeded again, whose handler raises.
                self.pid = pid
                self._theirs.close()
            except OSError:  # No more processes: the repeat goes on, and perhaps the next works.
                return []
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        end = time.monotonic() + patience
        heard = self._heard(end)
        if not self._asked:
            self._asked = True
            with contextlib.suppress(OSError):  # It may have crashed.
                self._ours.sendall(question)
            heard += self._heard(end)
        return heard

    def _heard(self, end: float) -> List[Dict[str, Any]]:
        patience = max(0.0, end - time.monotonic())
        if not self._asked or not select.select([self._ours], [], [], patience)[0]:
            return []
        line = b""
        with contextlib.suppress(ConnectionResetError):  # It ended with the question unread.
            line = self._answers.readline()
        if not line.endswith(b"\n"):
            self.ended = True
            return []
        self._asked = False
        answer = json.loads(line)
        self.seconds = answer["seconds"]
        return [answer]

    def _serve(self) -> NoReturn:
        """Answer until the process that asks is gone."""
        try:
            end_with_parent()
            for number in _ENDING:
                # Those of a terminal reach all processes; this one tells of its samples first.
                wanted = signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN
                signal.signal(number, wanted)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
            # The run's lock, its log and the pipe to the controller would stay open while it hangs.
            for name in os.listdir("/proc/self/fd"):
                if int(name) != self._theirs.fileno():
                    with contextlib.suppress(OSError):
                        os.close(int(name))
            for _ in range(3):
                os.open(os.devnull, os.O_RDWR)
            gpus: Optional[GpuSampler] = None
            for question in iter(lambda: self._theirs.recv(1), b""):
                if gpus is None:
                    # Without persistence mode opening the driver takes seconds.
                    gpus = GpuSampler(*find_nvml(), self._indices)
                told = gpus.sample() if question == _SAMPLE else {"reason": gpus.close()}
                answer = json.dumps({**told, "seconds": time.process_time()})
                self._theirs.sendall(answer.encode() + b"\n")
        finally:
            os._exit(0)

    def end(self) -> str:
        """End the process, which is not waited for; return where it hangs, if in the kernel."""
        with contextlib.suppress(ChildProcessError):
            if self.pid and os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                process = read_process(self.pid)
                os.kill(self.pid, signal.SIGKILL)
                if process and process.state == "D":
                    return f"; process {self.pid} hangs in the kernel (state D): see dmesg"
        return ""


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
