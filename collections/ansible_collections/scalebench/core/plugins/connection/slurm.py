"""Carries commands to the nodes of a Slurm job: each is a step of it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: slurm
short_description: Run commands on nodes of a Slurm allocation
description:
  - Each command is a step (C(srun --overlap)) on one node of an allocation that exists, as the user
    of ansible-playbook. No ssh is needed.
  - Files go through the standard input and output of a step; the nodes need no folder in common.
  - Whatever a command leaves behind on its node is ended by Slurm when the command ends.
options:
  host:
    description: Slurm's name of the node.
    default: inventory_hostname
    vars:
      - name: inventory_hostname
      - name: scalebench_carrier_host
  job:
    description: The id of the job that holds the node.
    required: true
    vars:
      - name: scalebench_carrier_job
"""

import contextlib
import os
import shlex
import signal
import subprocess
import threading
import time
import uuid

from ansible.errors import AnsibleError, AnsibleFileNotFound
from ansible.plugins.connection import ConnectionBase
from ansible_collections.scalebench.core.plugins.module_utils.slurm import answers, commands
from ansible_collections.scalebench.core.plugins.plugin_utils.carrier import (
    STOPPED,
    EndedByCarrierError,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.slurm_programs import (
    carried_environment,
    own_environment,
)

# For how long a job that is ending is asked how it ends, in seconds.
ENDING_PATIENCE = 5
# For how long slurmctld may be away, as at a restart, and the pause between two tries, in seconds.
AWAY_PATIENCE, AWAY_PAUSE = 120, 3
# For how long a step may wait to be created, also for the prolog of a site.
CREATE_PATIENCE = 300
# An answer of a program that takes longer is none.
ANSWER_PATIENCE = 30
# For how long the accounting is asked for a step that has ended: it learns of it a little later.
RECORD_PATIENCE = 3


class Connection(ConnectionBase):
    """Implements connection scalebench.core.slurm."""

    transport = "scalebench.core.slurm"
    has_pipelining = True
    # A module goes through standard input; ansible.cfg's setting is for ssh only.
    always_pipeline_modules = True

    def _connect(self):
        """Nothing stays open between two commands."""
        self._connected = True
        return self

    def close(self):
        """Nothing is open."""
        self._connected = False

    @staticmethod
    def is_over(job):
        """Return whether a job has ended, and all that it ran; not where Slurm does not answer."""
        known, state = _asked_state(job)
        return known and answers.is_over(state) and state != "COMPLETING"

    def exec_command(self, cmd, in_data=None, sudoable=True):
        """Run a command of the shell as a step; return its exit code, output and errors.

        :raises EndedByCarrierError: Slurm ended the step, or could not start it.
        """
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        return self._step(cmd, in_data)

    def put_file(self, in_path, out_path):
        """Copy a file of the controller to the node."""
        super().put_file(in_path, out_path)
        try:
            with open(in_path, "rb") as source:
                code, _, errors = self._step(f"cat > {shlex.quote(out_path)}", source)
        except FileNotFoundError:
            raise AnsibleFileNotFound(f"{in_path}: there is no such file") from None
        if code:
            raise AnsibleError(f"{out_path}: not written: {errors.decode(errors='replace')}")

    def fetch_file(self, in_path, out_path):
        """Copy a file of the node to the controller."""
        super().fetch_file(in_path, out_path)
        with open(out_path, "wb") as target:
            code, _, errors = self._step(f"cat {shlex.quote(in_path)}", None, target)
        if code:
            raise AnsibleError(f"{in_path}: not read: {errors.decode(errors='replace')}")

    def _step(self, command, given=None, output=subprocess.PIPE):
        """Run a step; ``given`` is its standard input, as bytes or as an open file.

        :raises EndedByCarrierError: Slurm ended it or could not start it. Where slurmctld is away
            or creates no step yet it is tried again for five minutes, unless the repeat is ended
            meanwhile: nothing has started yet.
        """
        job, node = str(self.get_option("job")), str(self.get_option("host"))
        name = f"scalebench-{uuid.uuid4().hex[:12]}"
        size = len(given) if isinstance(given, bytes) else None
        argv = commands.step(job, node, command, carried_environment(), name, size)
        self._display.vvv(f"EXEC {shlex.join(argv)}", host=node)
        end = time.monotonic() + CREATE_PATIENCE
        code, out, errors = _srun(argv, given, output)
        while code and answers.not_yet(errors.decode(errors="replace")):
            if time.monotonic() > end or STOPPED.wait(AWAY_PAUSE):
                break
            code, out, errors = _srun(argv, given, output)
        told = errors.decode("utf-8", "replace")
        if answers.needs_state(code, told):
            state = _state_of(job)
            which = answers.needs_record(told, state)
            record = _record_of(job, name if which == "step" else "") if which else None
            why = answers.end_of_step(job, node, code, told, state, record)
            if why:
                raise EndedByCarrierError(*why)
            if code < 0:
                how = f"srun was ended by {signal.Signals(-code).name}"
                reason = f"Slurm job {job} on {node}: {how}"
                raise EndedByCarrierError("launch_failed", reason, False, lingers=True)
        return code, out, errors


def _srun(argv, given, output):
    """Return the exit code, output and errors of srun."""
    with _beating(given) if isinstance(given, bytes) else _read_again(given) as source:
        srun = subprocess.Popen(
            argv, stdin=source, stdout=output, stderr=subprocess.PIPE, env=own_environment()
        )
    with srun:
        out, errors = srun.communicate()
    return srun.returncode, out or b"", errors


@contextlib.contextmanager
def _read_again(given):
    """Yield an open file from its start, or what reads nothing."""
    if given:
        given.seek(0)
    yield given or subprocess.DEVNULL


@contextlib.contextmanager
def _beating(given):
    """Yield a pipe with the bytes and, as long as this process lives and srun reads, beats."""
    source, target = os.pipe()

    def feed():
        with contextlib.suppress(BrokenPipeError), open(target, "wb") as pipe:
            pipe.write(given)
            while True:
                pipe.flush()
                time.sleep(commands.BEAT_SECONDS)
                pipe.write(b"\n")

    threading.Thread(target=feed, daemon=True).start()
    try:
        yield source
    finally:
        os.close(source)


def _state_of(job):
    """Return a job's state as ``answers.end_of_step`` wants it.

    Waits some seconds for that of a job that is ending, and longer for a slurmctld that is away.
    """
    began = time.monotonic()
    while True:
        known, state = _asked_state(job)
        patience = AWAY_PATIENCE if not known else ENDING_PATIENCE if state == "COMPLETING" else 0
        if time.monotonic() - began >= patience or STOPPED.wait(0.3 if known else AWAY_PAUSE):
            return state if known else None


def _asked_state(job):
    """Return whether squeue answers, and the state of the job; empty if Slurm has forgotten it."""
    asked = _asked(commands.in_queue(job))
    if not asked or (asked.returncode and "Invalid job id" not in asked.stderr):
        return False, ""
    found = answers.queued(asked.stdout, job)
    if found and not found.state.strip():
        return False, ""
    return True, found.state if found else ""


def _record_of(job, step):
    """Return how Slurm's accounting has recorded a step, or the job; None if it has not.

    Without accounting slurmctld tells of a job, but not of a step that has ended.
    """
    began = time.monotonic()
    while True:
        asked = _asked(commands.account(job))
        if not asked or asked.returncode:
            break
        found = answers.accounted(asked.stdout, job, step)
        if found:
            return found
        if time.monotonic() - began > RECORD_PATIENCE or STOPPED.wait(0.3):
            break
    asked = None if step else _asked(commands.describe_job(job))
    return answers.described(asked.stdout) if asked else None


def _asked(argv):
    """Return what a program of Slurm's answers; None if it does not."""
    try:
        return subprocess.run(
            argv,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=own_environment(),
            timeout=ANSWER_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
