"""Runs programs that need a framework in forks of this process, which imports it once.

Its words are the modules to import. It reads a job a line: the words of a program and one
environment for each rank. When all ranks have ended it prints the exit status, 0 if all have
succeeded. If one fails the others are ended, as torchrun does. It imports nothing of a trainer and
computes nothing, so that no fork finds what another one left.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import sys
from typing import Any


def main() -> None:
    """Import the modules, then begin programs until there are no more."""
    for name in sys.argv[1:]:
        importlib.import_module(name)
    for line in iter(sys.stdin.readline, ""):
        job = json.loads(line)
        ranks = []
        for environment in job["environments"]:
            process = os.fork()
            if not process:
                become(job, environment)
                return
            ranks.append(process)
        print(status_of(ranks), flush=True)


def status_of(ranks: list[int]) -> int:
    """Wait for all ranks; end them if one fails."""
    first = 0
    left = set(ranks)
    while left:
        process, status = os.wait()
        left.remove(process)
        if status and not first:
            first = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            for other in left:
                os.kill(other, signal.SIGTERM)
    return first


def become(job: dict[str, Any], environment: dict[str, str]) -> None:
    """Run the program of a job as Python itself would: up to an exception that nothing catches."""
    threads = os.listdir("/proc/self/task")
    assert len(threads) == 1, "a fork has none of the framework's threads"
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, file in ((1, job["out"]), (2, job["err"])):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), number)
    os.environ.clear()
    os.environ.update(environment)
    program, *_ = sys.argv = job["words"]
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    if program == "-c":
        sys.path[0] = ""
        text = sys.argv.pop(1)
        exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(program))
        runpy.run_path(program, run_name="__main__")


main()
