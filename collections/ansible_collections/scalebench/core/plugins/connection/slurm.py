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
      - name: scalebench_slurm_node
  job:
    description: The id of the job that holds the node.
    required: true
    vars:
      - name: scalebench_slurm_job
"""

import os
import shlex
import subprocess
import time

from ansible.errors import AnsibleConnectionFailure, AnsibleError, AnsibleFileNotFound
from ansible.plugins.connection import ConnectionBase
from ansible_collections.scalebench.core.plugins.module_utils.slurm import answers, commands
from ansible_collections.scalebench.core.plugins.plugin_utils.carrier import EndedByCarrierError
from ansible_collections.scalebench.core.plugins.plugin_utils.slurm_programs import own_environment

# For how long a job that is ending is asked how it ends, in seconds.
ENDING_PATIENCE = 5


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
        """Run a step; ``given`` is its standard input, as bytes or as an open file."""
        job, node = str(self.get_option("job")), str(self.get_option("host"))
        kept = {name: os.environ.get(name, "") for name in commands.ENVIRONMENT}
        argv = commands.step(job, node, command, kept)
        self._display.vvv(f"EXEC {shlex.join(argv)}", host=node)
        is_bytes = isinstance(given, bytes)
        with subprocess.Popen(
            argv,
            stdin=subprocess.PIPE if is_bytes else given or subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            env=own_environment(),
        ) as srun:
            out, errors = srun.communicate(given if is_bytes else None)
        if srun.returncode:
            told = errors.decode("utf-8", "replace")
            end = answers.end_of_step(job, node, srun.returncode, told, _state_of(job))
            if end:
                raise EndedByCarrierError(*end)
        return srun.returncode, out or b"", errors


def _state_of(job):
    """Return the state of a job; wait some seconds for that of one that is ending."""
    end = time.monotonic() + ENDING_PATIENCE
    while True:
        asked = subprocess.run(
            commands.in_queue(job),
            capture_output=True,
            encoding="utf-8",
            env=own_environment(),
            check=False,
        )
        found = answers.queued(asked.stdout)
        if asked.returncode and "Invalid job id" not in asked.stderr:
            raise AnsibleConnectionFailure(f"squeue: {asked.stderr.strip()}")
        if found is None or found.state != "COMPLETING" or time.monotonic() > end:
            return found.state if found else ""
        time.sleep(0.3)
