"""Stand-ins for srun and squeue, which behave and speak as those of Slurm 22.05.8, and for a node.

``install`` puts them into a folder. A step runs outside the caller's processes, below a stand-in of
slurmstepd: it ends all that the command leaves behind, and the command when srun is told to end. A
killed srun ends nothing, and its command's input and output stay open (tried with 22.05.8). In the
folder, the n-th word of ``faults`` is the fault of the n-th step that trains, and ``job<number>``
has the state of a job that is over. Steps of other commands have no faults.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import random
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Seconds between two looks of slurmstepd, from SIGTERM to SIGKILL, and while a job is COMPLETING.
LOOK, KILL_WAIT, COMPLETING = 0.05, 1.0, 0.3
# What srun asks slurmstepd for.
CANCEL, END_OF_INPUT = b"c", b"e"
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
# What slurmctld or a node refuses: nothing is started.
REFUSED = {
    "away": "Unable to create step for job {job}: Unable to contact slurm controller"
    " (connect failure)",
    "memory": "Unable to create step for job {job}: Memory required by task is not available",
    "launch": "Task launch for StepId={job}.{step} failed on node {node}: Communication connection"
    " failure\nsrun: error: Application launch failed: Communication connection failure",
}
# What ends a step that runs: the state of its job, if that ends too, and why slurmstepd says it.
ENDED = {
    "cancel": ("", ""),
    "node": ("", " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"),
    "scancel": ("CANCELLED", ""),
    "limit": ("TIMEOUT", " DUE TO TIME LIMIT"),
    "preempt": ("PREEMPTED", " DUE TO PREEMPTION"),
}
# Seconds until a step has its fault, spread over the time that a repeat takes.
BEGINS = [step * 37 % 60 / 100 for step in range(60)]
# Of 1000 steps that train.
SHARES = {
    **{"away": 10, "memory": 10, "launch": 20, "cancel": 20, "node": 20},
    **{"scancel": 20, "limit": 15, "preempt": 15, "killed": 15},
}


def install(folder: Path, rng: random.Random, has_faults: bool) -> None:
    """Install the programs, with the faults of the first 400 steps."""
    folder.mkdir()
    text = Path(__file__).read_text(encoding="utf-8")
    for name in ("srun", "squeue"):
        path = folder / name
        path.write_text(f"#!{Path(sys.executable).resolve()} -SEB\n{text}", encoding="utf-8")
        path.chmod(0o755)
    shares = {**SHARES, "none": 1000 - sum(SHARES.values())} if has_faults else {"none": 1}
    words = rng.choices(list(shares), list(shares.values()), k=400)
    (folder / "faults").write_text(" ".join(words), encoding="utf-8")
    (folder / "steps").touch()


def module_command(name: str) -> str:
    """Return a command of the shell, as Ansible makes it, that runs a module of ``library``.

    It reads the module's arguments from its standard input.
    """
    return f"/bin/sh -c '{sys.executable} -EB {__file__} module {name} && sleep 0'"


def left(folder: Path) -> list[str]:
    """Return the command lines of the stand-ins that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if f"{folder}/srun " in line:
            found.append(line)
    return found


def run_module(name: str) -> None:
    """Run a module of ``library``."""
    sys.path[:0] = [str(ROOT), str(ROOT / "collections")]
    basic = importlib.import_module("ansible.module_utils.basic")
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": json.load(sys.stdin)}).encode()
    basic._ANSIBLE_PROFILE = "legacy"
    importlib.import_module(f"library.{name}").main()


def squeue(folder: Path) -> None:
    """Print a job in the format of ``commands.in_queue``."""
    job = _options()["jobs"]
    state = "RUNNING"
    over = folder / f"job{job}"
    if over.exists():
        ends = time.time() - over.stat().st_mtime < COMPLETING
        state = "COMPLETING" if ends else over.read_text(encoding="utf-8").split()[0]
    print(f"{state}|None|2026-11-23T00:56:18|n1|1:00:00|batch|{job}")


def srun(folder: Path) -> None:
    """Run a step; end as its command does."""
    job, node = _options()["jobid"], _options()["nodelist"]
    with open(folder / "steps", "a+", encoding="utf-8") as steps:
        if " module training_run " in sys.argv[-1]:
            steps.write(f"{job} {node}\n")
            steps.flush()
        steps.seek(0)
        step = len(steps.readlines())
    fault = "none"
    if " module training_run " in sys.argv[-1]:
        words = (folder / "faults").read_text(encoding="utf-8").split()
        fault = words[step - 1] if step <= len(words) else "none"
    if (folder / f"job{job}").exists():
        sys.exit(
            f"srun: error: Unable to confirm allocation for job {job}: Invalid job id specified"
        )
    if fault in REFUSED:
        sys.exit("srun: error: " + REFUSED[fault].format(job=job, step=step, node=node))
    here, there = socket.socketpair()
    # Of the task: its input, output and errors.
    pipes = [os.pipe() for _ in range(3)]
    signal.signal(signal.SIGTERM, lambda *_: here.sendall(CANCEL))
    between = os.fork()
    if not between:
        if os.fork():
            os._exit(0)
        here.close()
        _slurmstepd(folder, step, fault, there, pipes)
    there.close()
    (source, given), (output, output_of_task), (errors, errors_of_task) = pipes
    for name in (source, output_of_task, errors_of_task):
        os.close(name)
    os.waitpid(between, 0)
    if fault == "killed":
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, BEGINS[step % 60] or 0.01)
    told = json.loads(_relay(here, {0: given, output: 1, errors: 2}) or b'["", 1]')
    sys.stderr.write(told[0])
    sys.exit(told[1])


def _relay(stepd: socket.socket, copies: dict[int, int]) -> bytes:
    """Pass a task's input on to it and its output on, until it ends; return what slurmstepd says.

    :param copies: descriptors to write to, by those to read from.
    """
    said, heard = b"", {stepd.fileno(), *copies}
    while heard - {0}:
        for name in select.select(heard, [], [])[0]:
            part = os.read(name, 65536)
            if not part:
                heard.discard(name)
                if name == 0:
                    os.close(copies[0])
                    with contextlib.suppress(BrokenPipeError):
                        stepd.sendall(END_OF_INPUT)
            elif name == stepd.fileno():
                said += part
            else:
                with contextlib.suppress(BrokenPipeError):
                    os.write(copies[name], part)
    return said


def _options() -> dict[str, str]:
    return dict(
        word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--") and "=" in word
    )


def _slurmstepd(
    folder: Path, step: int, fault: str, caller: socket.socket, pipes: list[tuple[int, int]]
) -> None:
    """Run the command of a step, end all of it, and tell srun how it ended."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    options = _options()
    job, node = options["jobid"], options["nodelist"]
    task = os.fork()
    if not task:
        caller.close()
        for name, pipe in enumerate(pipes):
            os.dup2(pipe[name > 0], name)
        os.closerange(3, 256)
        os.setsid()
        os.chdir("/")
        given = dict(word.split("=", 1) for word in options["export"].split(","))
        os.execve("/bin/sh", ["/bin/sh", "-c", sys.argv[-1]], {**given, "SLURM_PROCID": "0"})
    # The other ends stay open, whatever happens to srun.
    for name in (0, 1, 2, *(pipe[name > 0] for name, pipe in enumerate(pipes))):
        os.close(name)
    status, why = _supervise(task, caller, pipes[0][1], folder / f"job{job}", fault, step)
    told = _words(job, step, node, status, why)
    code = os.waitstatus_to_exitcode(status)
    try:
        caller.sendall(json.dumps([told, code if code >= 0 else 128 - code]).encode())
    finally:
        os._exit(0)


def _supervise(
    task: int, caller: socket.socket, target: int, over: Path, fault: str, step: int
) -> tuple[int, str | None]:
    """Wait for a step's command, and end it with its fault, its job or when srun asks for it.

    :param target: the command's input, which srun may ask to close.
    :param over: the file that says that the job is over.
    :returns: the command's status, and why Slurm ended it, or None if it did not.
    """
    begins = time.monotonic() + BEGINS[step % 60]
    kills, why = 0.0, None
    while not (found := os.waitpid(task, os.WNOHANG))[0]:
        now = time.monotonic()
        if not kills and fault in ENDED and now > begins:
            state, why = ENDED[fault]
            if state and not over.exists():
                part = over.with_name(f"{over.name}.{os.getpid()}")
                part.write_text(f"{state}\n{why}", encoding="utf-8")
                part.rename(over)
        if not kills and why is None and over.exists():
            why = over.read_text(encoding="utf-8").partition("\n")[2]
        if kills and now > kills:
            _signal(signal.SIGKILL)
        asked = _asked(caller)
        if END_OF_INPUT in asked:
            os.close(target)
        if not kills and (why is not None or CANCEL in asked):
            _signal(signal.SIGTERM)
            kills = now + KILL_WAIT
        time.sleep(LOOK)
    while next(_below(os.getpid()), None):
        if time.monotonic() > kills:
            _signal(signal.SIGKILL)
        _reap()
        time.sleep(LOOK)
    return found[1], why


def _asked(caller: socket.socket) -> bytes:
    """Return what srun asks for now; nothing once it is gone, as when it was killed."""
    with contextlib.suppress(ConnectionResetError):
        return caller.recv(16) if select.select([caller], [], [], 0)[0] else b""
    return b""


def _words(job: str, step: int, node: str, status: int, why: str | None) -> str:
    """Return what srun prints of a task that ended."""
    code = os.waitstatus_to_exitcode(status)
    told = ""
    if why is not None:
        at = time.strftime("%Y-%m-%dT%H:%M:%S")
        told = (
            "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
            f"slurmstepd-{node}: error: *** STEP {job}.{step} ON {node}"
            f" CANCELLED AT {at}{why} ***\n"
        )
    if code < 0:
        told += f"srun: error: {node}: task 0: {signal.strsignal(-code)}\n"
    elif code:
        told += f"srun: error: {node}: task 0: Exited with exit code {code}\n"
    return told


def _signal(number: int) -> None:
    for pid in list(_below(os.getpid())):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _below(pid: int) -> Iterator[int]:
    """Yield the descendants of a process, as proctrack/linuxproc finds them."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = [int(word) for word in path.read_text(encoding="ascii").split()]
        except OSError:
            continue
        for child in found:
            yield child
            yield from _below(child)


if __name__ == "__main__":
    NAME = Path(sys.argv[0]).name
    if NAME == "srun":
        srun(Path(sys.argv[0]).parent)
    elif NAME == "squeue":
        squeue(Path(sys.argv[0]).parent)
    else:
        run_module(sys.argv[2])
