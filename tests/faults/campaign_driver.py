"""Run the tasks of bench.yml in one process, with the real plugins and modules but without ssh.

A session stands for one ansible-playbook: a separate process that can be killed. The functions
follow ``roles/campaign`` and ``roles/cell``. With carrier ``slurm`` the real connection plugin runs
stand-ins of Slurm's programs, and each session has a job of its own.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ansible import context
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.module_utils.common.collections import ImmutableDict
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.template import Templar
from ansible_collections.scalebench.core.plugins.connection import slurm
from ansible_collections.scalebench.core.plugins.plugin_utils.side_by_side import side_by_side
from forked_nodes import WAITING, fork, on_nodes, outcome, run_module
from slurm_stand_ins import module_command

from action_plugins import (
    campaign_plan,
    node_claim,
    repeat_record,
    scaling_report,
    training_run,
)
from library import node_claim as node_claim_module
from library import training_run as training_run_module
from library import training_run_end as training_run_end_module

Result = dict[str, Any]
MODULES = {
    "node_claim": node_claim_module,
    "training_run": training_run_module,
    "training_run_end": training_run_end_module,
}
# Exit status of a session whose job is over.
JOB_OVER = 3
# Time limit of a session in seconds; on an idle machine no campaign needs a tenth of it.
PATIENCE = 240
# Audit events (sys.audit) raised before a file is accessed or a process is created.
AUDIT_EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.fork", WAITING)


@dataclass
class Campaign:
    """The options of one campaign and its cluster."""

    seed: int
    folder: Path
    nodes: dict[str, dict[str, Any]]
    options: dict[str, Any]
    retry: dict[str, Any]
    requeue: int
    timeout: float
    sample_interval: float
    # Shares of the tasks whose node is unreachable, or whose node reports CPU throttling.
    unreachable: float = 0.0
    throttled: float = 0.0
    carrier: str = "ssh"
    # The job of the session; its own, as nothing else continues it.
    job: int = 0

    @property
    def slurm(self) -> Path:
        """Return the folder of the stand-ins of Slurm's programs."""
        return self.folder / "slurm"

    @property
    def results(self) -> Path:
        """Return the folder of the campaign."""
        return self.folder / "results" / "random"

    def work_dir(self, node: str) -> Path:
        """Return the folder of a node."""
        return self.folder / node


class Killer:
    """Kill this process with SIGKILL at the n-th access to a file of the campaign."""

    def __init__(self, folder: Path, accesses: int, pause: float) -> None:
        self.folder, self.left, self.pause = str(folder), accesses, pause
        self.pid = os.getpid()

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count the event; the interpreter calls this at every audit event."""
        if event not in AUDIT_EVENTS or os.getpid() != self.pid:
            return
        if event in ("open", "os.rename", "os.remove", "os.mkdir"):
            path = arguments[0]
            if isinstance(path, int) or not os.fspath(path).startswith(self.folder):
                return
        self.left -= 1
        if self.left == 0:
            if event == WAITING:
                time.sleep(self.pause)
            os.kill(self.pid, signal.SIGKILL)


def session(campaign: Campaign, number: int, killed_after: int | None = None) -> str:
    """Run the tasks of bench.yml once; return whether it was "complete", "killed" or "job over".

    :param number: number of the session, from 1; with the seed it determines the random faults.
    :param killed_after: number of file accesses after which it is killed; None for never.
    :raises AssertionError: the session failed or did not end in time.
    """
    rng = random.Random(f"{campaign.seed}/{number}")
    error_file = campaign.folder / f"session{number}.txt"

    def body() -> None:
        if killed_after:
            sys.addaudithook(Killer(campaign.folder, killed_after, rng.uniform(0, 0.15)))
        campaign.job = number
        os.environ["PATH"] = f"{campaign.slurm}:{os.environ['PATH']}"
        slurm.AWAY_PAUSE = 0.2
        slurm.commands.BEAT_SECONDS, slurm.commands.PATIENCE_SECONDS = 0.3, 2
        try:
            _play(campaign, rng)
        except AnsibleActionFail as error:
            if "runs in a new allocation" not in str(error):
                raise
            sys.exit(JOB_OVER)

    pid = fork(body, error_file)
    end = time.monotonic() + PATIENCE
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError(f"session {number} did not end within {PATIENCE} s")
        time.sleep(0.01)
    code = os.waitstatus_to_exitcode(status)
    how = {0: "complete", -signal.SIGKILL: "killed", JOB_OVER: "job over"}.get(code)
    if not how:
        raise AssertionError(f"session {number} failed: {error_file.read_text(encoding='utf-8')}")
    return how


def results(campaign: Campaign) -> Result:
    """Compute the results of the campaign, as the report does."""
    templates = Path(__file__).resolve().parents[2] / "roles/report/templates"
    arguments = {
        "campaign_dir": str(campaign.results),
        "templates": [str(templates)],
        "plots": False,
    }
    answer: Result = _action(scaling_report, arguments).run()
    return answer


def _play(campaign: Campaign, rng: random.Random) -> None:
    _claim(campaign, "taken")
    plan = _plan(campaign, "")
    skipped: list[str] = []
    while plan["waves"]:
        for wave in plan["waves"]:
            skipped = _wave(campaign, plan, wave, skipped, rng)
        plan = _plan(campaign, plan["session"])
    _claim(campaign, "released")


def _claim(campaign: Campaign, state: str) -> None:
    class Claim(node_claim.ActionModule):
        def _execute_module(self, module_args: Any = None, **_: Any) -> Result:
            return _on_node(campaign, self._connection, "node_claim", module_args)

    tasks = {}
    for node in campaign.nodes:
        args = {"work_dir": str(campaign.work_dir(node)), "campaign": "random", "state": state}
        action = _action(Claim, args, _connection(campaign, node))
        tasks[node] = partial(action.run, None, {"inventory_hostname": node})
    for node, answer in on_nodes(campaign.folder, tasks).items():
        if answer.get("failed"):
            raise AssertionError(f"{node} cannot be {state}: {answer['msg']}")


def _plan(campaign: Campaign, name: str) -> Result:
    context.CLIARGS = ImmutableDict(forks=len(campaign.nodes))
    answer: Result = _action(
        campaign_plan,
        {
            "variables": campaign.options,
            "benchmarks_dir": str(campaign.folder / "benchmarks"),
            "results_dir": str(campaign.results.parent),
            "campaign": campaign.results.name,
            "session": name,
            "retry": campaign.retry,
            "requeue": campaign.requeue,
            "memory_mib": dict.fromkeys(campaign.nodes, 1),
            "nodes": campaign.nodes,
        },
    ).run()
    return answer


def _wave(
    campaign: Campaign, plan: Result, wave: Result, skipped: list[str], rng: random.Random
) -> list[str]:
    """Run and record the repeats of a wave; return the logs to skip from now on."""
    tasks = {}
    for node, shares in wave["shares"].items():
        calls = {
            share["log"]: _action(
                _train(campaign, rng),
                _train_args(campaign, plan, share, node),
                _connection(campaign, node),
            ).run
            for share in shares
            if share["log"] not in skipped
        }
        if calls:
            tasks[node] = partial(_in_parallel, calls)
    runs = on_nodes(campaign.folder, tasks)
    arguments = {key: plan[key] for key in ("campaign", "session", "directory")}
    arguments.update(repeats=wave["repeats"], runs=runs, skipped=skipped)
    logs: list[str] = _action(repeat_record, arguments).run()["skipped_logs"]
    return logs


def _in_parallel(calls: dict[str, Callable[[], Result]]) -> Result:
    """Run the repeats of a node in a wave in parallel, like the action plugin training_runs."""
    return {"runs": side_by_side({log: partial(outcome, call) for log, call in calls.items()})}


def _train_args(campaign: Campaign, plan: Result, share: Result, node: str) -> Result:
    return {
        **{key: share[key] for key in ("argv", "environment", "rank", "devices", "name")},
        "work_dir": str(campaign.work_dir(node)),
        "directory": f"runs/{plan['campaign']}/{share['directory']}",
        "timeout": campaign.timeout,
        "grace": 60,
        "stall": 0.9,
        "failed_file": f"{plan['directory']}/{share['log']}.failed-{plan['session']}",
        "sample_interval": campaign.sample_interval,
        "fetch_to": f"{plan['directory']}/{share['output']}",
    }


def _train(campaign: Campaign, rng: random.Random) -> Any:
    """Return the action plugin training_run, with a node that may be unreachable or throttled."""
    is_unreachable = rng.random() < campaign.unreachable
    is_throttled = rng.random() < campaign.throttled

    class Train(training_run.ActionModule):
        def _execute_module(self, module_name: str, module_args: Any, **_: Any) -> Result:
            if is_unreachable:
                raise AnsibleConnectionFailure("no route to host")
            answer = _on_node(campaign, self._connection, module_name, module_args)
            if is_throttled and answer.get("telemetry"):
                answer["telemetry"]["cpu_throttle_events"] = 1
            return answer

    return Train


def _connection(campaign: Campaign, node: str) -> Any:
    """Return the connection to a node, that of Slurm or one to this machine."""
    if campaign.carrier == "ssh":
        return _local()
    connection = slurm.Connection(PlayContext())
    connection.get_option = {"host": node, "job": campaign.job}.get
    connection._shell = SimpleNamespace(tmpdir="")
    return connection


def _local() -> Any:
    """Return a connection to this machine."""
    return SimpleNamespace(
        transport="local", _shell=SimpleNamespace(tmpdir=""), fetch_file=shutil.copyfile
    )


def _on_node(campaign: Campaign, connection: Any, name: str, args: Result) -> Result:
    """Run a module on a node, as Ansible does with pipelining."""
    if campaign.carrier == "ssh":
        return run_module(MODULES[name].main, args)
    given = json.dumps(args).encode()
    code, out, errors = connection.exec_command(module_command(name), in_data=given)
    if not out:
        return {"failed": True, "msg": f"MODULE FAILURE: {code}: {errors.decode()}"}
    answer: Result = json.loads(out)
    return answer


def _action(plugin: Any, args: Result, connection: Any = None) -> Any:
    """Return an action plugin that is ready to run."""
    task = SimpleNamespace(
        args=args, action="", async_val=0, check_mode=False, diff=False, become=False
    )
    templar = Templar(loader=DataLoader(), variables={})
    made = getattr(plugin, "ActionModule", plugin)
    return made(task, connection or _local(), None, None, templar, None)
