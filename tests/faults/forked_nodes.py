"""Run tasks on nodes without ssh: stand-ins for Ansible's workers and its connection.

Each worker is a process of its session, and each module runs in a separate process, as below sshd.
All of them are forks, which saves 0.3 s of imports each.
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
from ansible_collections.scalebench.core.plugins.plugin_utils.carrier import told_of

Result = dict[str, Any]
FORK = multiprocessing.get_context("fork")
WAITING = "forked_nodes.wait"  # audit event (sys.audit) raised before waiting for the workers


def on_nodes(folder: Path, tasks: dict[str, Callable[[], Result]]) -> dict[str, Result]:
    """Run each node's task in a worker; return the results as Ansible would register them.

    :param folder: folder for the result files.
    """
    # The name contains the pid: workers left behind by a killed session still write their files.
    answers = {node: folder / f"{node}.{os.getpid()}.answer" for node in tasks}
    workers = {}
    for node, task in tasks.items():
        workers[node] = FORK.Process(target=_worker, args=(task, answers[node]))
        workers[node].start()
    sys.audit(WAITING)
    results = {}
    for node, worker in workers.items():
        worker.join()
        results[node] = json.loads(answers[node].read_text(encoding="utf-8"))
    return results


def outcome(call: Callable[[], Result]) -> Result:
    """Return the result of the call, or its error as Ansible registers it."""
    try:
        return call()
    except AnsibleConnectionFailure as error:
        return told_of(error)
    except AnsibleError as error:
        return {"failed": True, "msg": str(error)}


def _worker(task: Callable[[], Result], path: Path) -> None:
    """Run a task like an Ansible worker: in its own session, all of which SIGTERM ends."""
    os.setsid()
    signal.signal(signal.SIGTERM, _end_group)
    result = outcome(task)
    path.write_text(json.dumps(result), encoding="utf-8")


def _end_group(number: int, _frame: Any) -> None:
    signal.signal(number, signal.SIG_DFL)
    os.killpg(os.getpid(), number)


def run_module(main: Callable[[], None], args: Result) -> Result:
    """Run a module on the node and read its result through ``cat``, the stand-in for ssh.

    As over ssh, the module is not a descendant of the worker, and its pipe closes when cat ends.
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
    result: Result = json.loads(ssh.stdout)
    return result


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


def fork(body: Callable[[], None], error_file: Path | None) -> int:
    """Run ``body`` in a child; return its pid.

    If ``body`` fails, the exit status is 1 and ``error_file`` contains the traceback.
    """
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
        if error_file:
            error_file.write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(status)
