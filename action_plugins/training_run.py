"""Runs module training_run under the controller's time limit and keeps the log."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path
from typing import get_type_hints

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.node import durable
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import adopt_orphans
from ansible_collections.scalebench.core.plugins.module_utils.node.repeat import (
    ARGUMENTS,
    run_repeat,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import unpacked
from ansible_collections.scalebench.core.plugins.module_utils.records.endings import ending_names
from ansible_collections.scalebench.core.plugins.module_utils.records.runs import NodeLog, NodeRun
from ansible_collections.scalebench.core.plugins.module_utils.records.shape import check_shape
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    write_files,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.node_program import (
    FLAGS,
    module_texts,
    node_program,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.run_watch import (
    PEER_GRACE,
    RunWatch,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.side_by_side import end_with_playbook

# Read once, and not by the worker of each node and repeat.
TEXTS = module_texts(run_repeat)
REASONS = {
    "timeout": "the node gave no answer within {timeout:g} s and {grace:g} s more",
    "cancelled": "ended, because another node of the repeat failed",
}
# What is taken of a node's answer. It may not say that its carrier's job is over, nor that Ansible
# cannot reach it.
ANSWERED = (
    *get_type_hints(NodeRun),
    *get_type_hints(NodeLog),
    *("changed", "skipped", "failed", "msg", "module_stderr"),
)
# sftp, whose commands are lines, reads backslashes in quotes otherwise than a shell.
_FETCHED = re.compile(r"/[^\\\x00-\x1f\x7f\ud800-\udfff]*")


class ActionModule(ActionBase):
    """Watches module training_run from the controller; ends together with ansible-playbook."""

    def run(self, tmp=None, task_vars=None):
        """Return the module's result; write the log to ``fetch_to`` if that is set."""
        result = super().run(tmp, task_vars)
        # Otherwise this worker survives a killed ansible-playbook, and with it the connection that
        # keeps the run on the node alive. Ansible's handler of SIGTERM ends also ssh.
        end_with_playbook()
        # With connection local the module runs below a shell, which ends at once on SIGTERM. A
        # module that does not would not be found, and its open output keep this worker waiting.
        if self._connection.transport == "local":
            adopt_orphans()
        result.update(self._train(task_vars))
        packed = result.pop("packed_log", None)
        content = unpacked(packed) if packed else None
        target = self._task.args.get("fetch_to")
        if target and result.get("log") and not result.get("failed"):
            self._keep(result["log"], content, Path(target))
        return result

    def _execute_module(self, module_name=None, module_args=None, task_vars=None, **more):
        """Return what a module answers; the run is a program without Ansible's code."""
        if module_name != "training_run" or self._task.check_mode:
            return super()._execute_module(module_name, module_args, task_vars=task_vars, **more)
        valid = ArgumentSpecValidator(ARGUMENTS).validate(module_args)
        if valid.error_messages:
            raise AnsibleActionFail("; ".join(valid.error_messages))
        built, _ = self._configure_module(module_name, {}, task_vars)
        self._used_interpreter = built.shebang
        command = shlex.join([built.shebang[2:].strip(), *FLAGS])
        program = node_program(run_repeat, TEXTS, valid.validated_parameters)
        told = self._low_level_execute_command(
            f"{self._compute_environment_string()} {command}".strip(), in_data=program
        )
        return self._parse_returned_data(told, built.serialization_profile)

    def _train(self, task_vars):
        """Run the module until it ends, exceeds its time limit, or another node fails."""
        args = self._task.args
        timeout, grace = float(args.get("timeout") or 0), float(args.get("grace", 60))
        failed = args.get("failed_file")
        watch = RunWatch(timeout and timeout + grace, Path(failed) if failed else None)
        try:
            with watch:
                told = self._execute_module(
                    module_name="training_run", module_args=args, task_vars=task_vars
                )
            answer = _taken(told)
            if watch.ended and answer.get("failed"):  # no ssh that would report it
                raise AnsibleConnectionFailure(str(answer.get("msg", "")))
        except AnsibleConnectionFailure as error:
            if not watch.ended:
                watch.fail()
                if getattr(error, "lingers", False):
                    self._wait_for_end(2 * grace, task_vars)
                raise
            reason = REASONS[watch.ended].format(timeout=timeout, grace=grace)
            log = self._wait_for_end(grace, task_vars)
            answer = {"ending": watch.ended, "reason": reason, "log": log}
        if answer.get("ending") != "ok":
            ending = answer.get("ending", "launch_failed")
            watch.fail(0 if ending in ending_names(ends_peers=True) else PEER_GRACE)
        return answer

    def _wait_for_end(self, patience: float, task_vars) -> str | None:
        """Wait at most ``patience`` s until the run has ended on the node; return its log.

        Without the wait, ranks of the next repeat could connect to ranks of this one.
        """
        args = self._task.args
        run = f"{args['work_dir']}/{args['directory']}/{args['name']}"
        given = {"work_dir": args["work_dir"], "run": run, "patience": patience}
        with contextlib.suppress(AnsibleConnectionFailure):
            answer = self._execute_module(
                module_name="training_run_end", module_args=given, task_vars=task_vars
            )
            if answer.get("ended"):
                log = answer.get("log")
                return log if isinstance(log, str) else None
            problem = answer.get("msg", f"not ended after {patience:g} s")
            self._display.warning(f"{task_vars['inventory_hostname']}: {run}: {problem}")
        return None

    def _keep(self, log: str, content: bytes | None, target: Path) -> None:
        """Write the log, whose content came with the answer or is fetched."""
        part = target.with_name(target.name + ".part")
        try:
            durable.make_folder(target.parent)
            if content is not None:
                write_files({target: content}, False, False)
                return
            self._verify_path(log)
            part.unlink(missing_ok=True)  # A link would be followed.
            self._connection.fetch_file(log, str(part))
            durable.replace(part, target)
        except OSError as error:
            raise AnsibleError(f"{target}: {error.strerror}: the log stays at {log}") from None

    def _verify_path(self, log: str) -> None:
        """Refuse a path, which is the node's word, that is not that of the repeat's log."""
        ending = f"/{self._task.args['directory']}/{self._task.args['name']}.log"
        if not (_FETCHED.fullmatch(log) and log.endswith(ending)):
            raise AnsibleError(
                f"the node says that the log is {log!r}, which is no path that ends with"
                f" {ending!r}; a work_dir must not have backslashes or control characters"
            )


def _taken(told: dict) -> dict:
    """Return what counts of a node's answer, or a failure that says what is wrong with its log."""
    answer = {key: told[key] for key in ANSWERED if key in told}
    try:
        check_shape(answer, NodeLog, "answer", {})
    except ValueError as error:
        return {"failed": True, "msg": str(error)}
    return answer
