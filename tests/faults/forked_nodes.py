"""What runs a task on a node, without ssh: stand-ins for Ansible's workers and for its connection.

A worker is a process of its session, and the module a further one, as sshd has it; all are forks,
which saves 0.3 s of imports each.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.module_utils import basic

Result = dict[str, Any]
FORK = multiprocessing.get_context("fork")
WAITING = "forked_nodes.wait"  # the name of the event (sys.audit) that workers are waited for


def on_nodes(folder: Path, tasks: dict[str, Callable[[], Result]]) -> dict[str, Result]:
    """Run each node's task in a worker; return what Ansible would register.

    :param folder: for the answers.
    """
    # Of this session alone: workers that a killed one left behind still write theirs.
    answers = {node: folder / f"{node}.{os.getpid()}.answer" for node in tasks}
    workers = {}
    for node, task in tasks.items():
        workers[node] = FORK.Process(target=_worker, args=(task, answers[node]))
        workers[node].start()
    sys.audit(WAITING)
    found = {}
    for node, worker in workers.items():
        worker.join()
        found[node] = json.loads(answers[node].read_text(encoding="utf-8"))
    return found


def outcome(call: Callable[[], Result]) -> Result:
    """Return the answer, or the error as Ansible registers it."""
    try:
        return call()
    except AnsibleConnectionFailure as error:
        return {"unreachable": True, "msg": str(error)}
    except AnsibleError as error:
        return {"failed": True, "msg": str(error)}


def _worker(task: Callable[[], Result], path: Path) -> None:
    """Do a task as Ansible's worker does: in a session of its own, which SIGTERM ends whole."""
    os.setsid()
    signal.signal(signal.SIGTERM, _end_group)
    result = outcome(task)
    path.write_text(json.dumps(result), encoding="utf-8")


def _end_group(number: int, _frame: Any) -> None:
    signal.signal(number, signal.SIG_DFL)
    os.killpg(os.getpid(), number)


def run_module(main: Callable[[], None], args: Result) -> Result:
    """Run a module on the node, and read its answer through ``cat``, which stands in for ssh.

    As over ssh, the module is no descendant of the worker, and sees a closed pipe when cat ends.
    """
    read, write = os.pipe()
    between = fork(lambda: fork(lambda: _on_the_node(main, args, write), None), None)
    os.close(write)
    os.waitpid(between, 0)
    with os.fdopen(read) as pipe:
        ssh = subprocess.run(["cat"], stdin=pipe, stdout=subprocess.PIPE, check=False)
    if ssh.returncode:
        raise AnsibleConnectionFailure(f"the connection ended by {ssh.returncode}")
    if not ssh.stdout:
        return {"failed": True, "msg": "MODULE FAILURE: no output"}
    found: Result = json.loads(ssh.stdout)
    return found


def _on_the_node(main: Callable[[], None], args: Result, write: int) -> None:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(write, 1)
    os.closerange(3, 256)
    sys.stdout = os.fdopen(1, "w")
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": args}).encode()
    basic._ANSIBLE_PROFILE = "legacy"
    try:
        main()
    finally:
        sys.stdout.flush()


def fork(body: Callable[[], None], said: Path | None) -> int:
    """Run ``body`` in a child; its exit status is 1, and its traceback in ``said``, if it fails."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        body()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        if said:
            said.write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(status)
