"""Run one launcher under supervision, and end all processes that it started."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import time
from typing import IO, Any, Dict, Iterable, List, Mapping, Optional, TypedDict

from .durable import create
from .gpus import visible_gpus
from .processes import Process, adopt_orphans, descendants, end_processes, end_with_parent
from .sampler import Sampler

__all__ = ["BEATS", "supervise", "telling_line"]

BEATS = 3

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_TAIL = 65536
_FAR_BACK = "the last words are in a line that begins more than 64 KiB before the end"
_ERROR = re.compile(r"\b([A-Za-z_][\w.]*(Error|Exception)|error|fatal)\s*:\s*\S", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z]{2}")
_LONGEST = 300
_WHOLE_WORDS = re.compile(rf"\S.{{0,{_LONGEST - 1}}}(?!\S)")
# A line of a key: base64, perhaps after the name of a rank, or a header (RFC 1421, RFC 4880).
_KEY_LINE = re.compile(
    r"^(?:\S*[>:] ?)?(?:[A-Za-z0-9+/=]*|(?:Proc-Type|DEK-Info|Comment|Version|Charset): .*)$"
)
_KEY_MARK = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]*PRIVATE KEY")


class _InterruptedError(Exception):
    """The controller is gone, or this process received a signal to end."""


class _Controller:
    """The process that waits for the result; the arguments are those of :func:`supervise`."""

    def __init__(self, output: Optional[int], patience: float) -> None:
        self._output, self._patience = output, patience
        self._heard = time.monotonic()

    def register(self, poller: select.poll) -> None:
        """Have what comes from the controller reported."""
        if self._output is not None:
            # No events are requested: a closed other end is reported always.
            poller.register(self._output, 0)
        if self._patience:
            poller.register(BEATS, select.POLLIN)

    def check(self, events: Mapping[int, int], now: float) -> None:
        """Take note of what was reported until ``now``, in seconds of the monotonic clock.

        :raises _InterruptedError: the controller is gone.
        """
        beats = os.read(BEATS, 4096) if events.get(BEATS) else None
        if beats:
            self._heard = now
        if beats == b"" or (self._output is not None and events.get(self._output)):
            raise _InterruptedError("the connection to the controller closed")
        if self._patience and now - self._heard > self._patience:
            raise _InterruptedError(f"nothing came from the controller for {self._patience:g} s")


class Outcome(TypedDict):
    """How a launcher ended."""

    ending: str  # ok, crashed, timeout, stalled, interrupted or launch_failed
    reason: str
    exit_code: Optional[int]  # None if the launcher was ended or not started
    seconds: float
    ended: int  # number of processes that had to be ended
    telemetry: Optional[Dict[str, Any]]  # of ``Sampler.summary``; None if not sampled


def supervise(
    argv: List[str],
    log: str,
    environment: Mapping[str, str],
    timeout: float,
    stall: float,
    controller: Optional[int] = None,
    sample_interval: float = 0,
    memory_mib: int = 0,
    folder: Optional[str] = None,
    patience: float = 0,
) -> Outcome:
    """Run ``argv`` with its output in ``log`` and return how it ended.

    All descendants are ended before the return, however the launcher ended, including workers in
    sessions of their own.

    :param environment: added to that of this process; it should contain ``RUN_VARIABLE``.
    :param timeout: seconds after which the run is ended; 0 for none.
    :param stall: seconds without output after which the run is ended; 0 for none.
    :param controller: file descriptor of the pipe to the process that waits for the result; the
        run is ended when the other end is closed.
    :param sample_interval: seconds between two samples of the node's telemetry; 0 for none.
    :param memory_mib: memory that each process may take; 0 for no limit.
    :param folder: working directory of the launcher; None for the current one.
    :param patience: seconds within which bytes come from the controller on descriptor ``BEATS``,
        by a carrier that does not close that pipe; else the run is ended. 0 where none come.
    """
    gpus = visible_gpus(environment)
    sampler = Sampler(sample_interval, gpus) if sample_interval > 0 else None
    start = time.monotonic()
    adopt_orphans()

    launcher: Optional[subprocess.Popen[bytes]] = None
    exit_code = None
    # Around the watch, which leaves signals ignored: between it and the end of what it watched none
    # may end this process. Before it they do what they did: one that is ignored there is lost.
    with open(create(log), "w+b") as output, _signals_put_back():
        try:
            with _signals_raise():
                try:
                    launcher = _started(argv, output, environment, memory_mib, folder)
                except OSError as error:
                    return _ended("launch_failed", f"{argv[0]}: {error.strerror}", None, start, 0)
                peer = _Controller(controller, patience)
                ending, reason = _watch(launcher, output, timeout, stall, peer, start, sampler)
                exit_code = launcher.poll()
        except _InterruptedError as error:
            ending, reason = "interrupted", str(error)
        finally:
            try:
                left, stuck = end_processes(lambda: _below(sampler)), ""
            except ValueError as error:
                left, stuck = _below(sampler), str(error)
            spared = _below(sampler)
            if launcher and launcher.pid not in [process.pid for process in spared]:
                launcher.wait()
            _reap()
        if launcher and ending == "ended":
            ending, reason = _verdict(launcher.returncode, output)
        lost = _put_back(log, output)
        others = ", ".join(f"{one.pid} ({one.command})" for one in spared)
        alive = stuck or (others and f"processes of another account go on: {others}")
        reason = "; ".join(filter(None, (reason, alive, lost)))
        result = _ended(ending, reason, exit_code, start, len(left))
        if sampler:
            result["telemetry"] = sampler.summary()
    return result


def _below(sampler: Optional[Sampler]) -> List[Process]:
    """Return the living processes of the run."""
    return [one for one in descendants(os.getpid()) if not sampler or one.pid != sampler.process]


def _started(
    argv: List[str],
    output: IO[bytes],
    environment: Mapping[str, str],
    memory_mib: int,
    folder: Optional[str],
) -> subprocess.Popen[bytes]:
    """Return the launcher, which ends with this process; the arguments are those of ``supervise``.

    :raises OSError: it cannot be started.
    """
    supervisor = os.getpid()

    def die_with_us() -> None:
        end_with_parent(supervisor)
        if memory_mib:
            # Limits private writable memory, getrlimit(2); RLIMIT_AS would include libraries.
            resource.setrlimit(resource.RLIMIT_DATA, (memory_mib << 20, memory_mib << 20))

    return subprocess.Popen(
        argv,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env={**os.environ, **environment},
        start_new_session=True,
        preexec_fn=die_with_us,  # noqa: PLW1509 - no threads here, and no other way
    )


def _watch(
    launcher: subprocess.Popen[bytes],
    output: IO[bytes],
    timeout: float,
    stall: float,
    controller: _Controller,
    start: float,
    sampler: Optional[Sampler],
) -> tuple[str, str]:
    poller = select.poll()
    controller.register(poller)
    exited = _pidfd(launcher.pid)
    if exited is not None:
        poller.register(exited, select.POLLIN)
    pause = 1.0 if exited is not None else 0.1
    if sampler:
        pause = min(pause, sampler.interval)
    size, grew = -1, time.monotonic()
    try:
        while launcher.poll() is None:
            events = dict(poller.poll(1000 * pause))
            now = time.monotonic()
            controller.check(events, now)
            if sampler:
                sampler.sample(now)
            # Of the open file: the launcher may remove, rename or replace what has its name.
            written = os.fstat(output.fileno()).st_size
            if written != size:
                size, grew = written, now
            if timeout and now - start > timeout:
                return "timeout", f"not done after {timeout:g} s"
            if stall and now - grew > stall:
                return "stalled", f"no output for {stall:g} s"
    finally:
        if exited is not None:
            os.close(exited)
    return "ended", ""


def _reap() -> None:
    """Wait for the adopted orphans that have ended, so that their CPU time is counted as ours."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _put_back(log: str, output: IO[bytes]) -> str:
    """Have the output under its name again, which a launcher may have taken from it.

    What has the name instead may be a pipe, whose reader would wait for ever.

    :returns: why it could not be written; empty where it was.
    """
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(output.fileno()), os.lstat(log)):
            return ""
    part = log + ".part"
    output.seek(0)
    try:
        with open(create(part), "wb") as copy:
            shutil.copyfileobj(output, copy)
        os.replace(part, log)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.remove(part)
        return f"its log was moved and could not be kept: {error.strerror}"
    return ""


def _verdict(exit_code: int, output: IO[bytes]) -> tuple[str, str]:
    if exit_code == 0:
        return "ok", ""
    how = f"ended by {_signal_name(-exit_code)}" if exit_code < 0 else f"exit code {exit_code}"
    message = telling_line(_tail(output))
    return "crashed", f"{how}: {message}" if message else f"{how}, no output"


def _signal_name(number: int) -> str:
    """Return ``signal 9 (SIGKILL)``; of signals without a name, as of real time, the number."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def telling_line(output: str) -> str:
    """Return the first line that names an error, else the last with a word in it, else nothing.

    The first, because launchers print their own error after that of the rank that caused it.
    Lines are cut after a word, at 300 characters: the controller looks for secrets in whole words.
    """
    lines = _without_keys(line.strip() for line in re.split(r"[\r\n]+", output))
    errors = (line for line in lines if _ERROR.search(line))
    words = (line for line in reversed(lines) if _WORDS.search(line))
    line = next(errors, next(words, ""))
    if len(line) <= _LONGEST:
        return line
    cut = _WHOLE_WORDS.match(line)
    return f"{cut.group().rstrip()} ..." if cut else f"a word of {len(line)} characters"


def _without_keys(lines: Iterable[str]) -> List[str]:
    """Return the lines that are of no private key, which may begin before them."""
    kept: List[str] = []
    inside = False
    for line in lines:
        marks = _KEY_MARK.findall(line)
        if marks:
            if marks[0] == "END" and not inside:
                kept.clear()
            inside = marks[-1] == "BEGIN"
            continue
        inside = inside and bool(_KEY_LINE.search(line))
        if not inside:
            kept.append(line)
    return kept


def _tail(output: IO[bytes]) -> str:
    """Return the last lines of the output, of 64 KiB at most.

    Without one whose beginning is missing: it may be the value of a secret, whose name is cut off.
    """
    start = max(0, os.fstat(output.fileno()).st_size - _TAIL)
    text = os.pread(output.fileno(), _TAIL, start).decode("utf-8", "replace")
    if not start:
        return text
    rest = "".join(re.split(r"[\r\n]+", text, maxsplit=1)[1:])
    return rest if _WORDS.search(rest) else _FAR_BACK


def _ended(ending: str, reason: str, exit_code: Optional[int], start: float, left: int) -> Outcome:
    return {
        "ending": ending,
        "reason": reason,
        "exit_code": exit_code,
        "seconds": round(time.monotonic() - start, 3),
        "ended": left,
        "telemetry": None,
    }


def _pidfd(pid: int) -> Optional[int]:
    """Return a descriptor that is readable once ``pid`` ends; None on Python 3.8 or Linux < 5.3."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


@contextlib.contextmanager
def _signals_raise() -> Any:
    """Have the first signal raise; after it, as after the block, all are ignored."""

    def interrupt(number: int, _frame: Any) -> None:
        _ignore_signals()
        raise _InterruptedError(f"the supervisor got {signal.Signals(number).name}")

    for number in _SIGNALS:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        _ignore_signals()


def _ignore_signals() -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def _signals_put_back() -> Any:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
