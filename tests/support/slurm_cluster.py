"""Use and break the Slurm of a testbed: what its user and its administrator do, and real faults.

``scripts/testbed up slurm`` starts it. Everything goes through ssh: to the login node as alice, to
any node as root.
"""

from __future__ import annotations

import subprocess
import time

from testbed_nodes import STATE

# A node that does not answer is down after SlurmdTimeout (15 s), at slurmctld's next look.
PATIENCE = 90


def ssh(account: str, command: str, timeout: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    """Run a command of the shell.

    :param account: ``user@node``.
    :param timeout: in seconds.
    """
    return subprocess.run(
        ["ssh", "-F", STATE / "ssh_config", "-o", "BatchMode=yes", account, command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def alice(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as the user on the login node."""
    return ssh("alice@login", command)


def root(node: str, command: str) -> str:
    """Run a command as the administrator; return its output.

    :raises AssertionError: it fails.
    """
    done = ssh(f"root@{node}", command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def submit(options: str, command: str) -> str:
    """Submit a job of alice's; return its number."""
    done = alice(f"sbatch --parsable {options} --wrap '{command}'")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def job_field(job: str, name: str) -> str:
    """Return a field of ``scontrol show job``, such as JobState; empty if there is none."""
    words = alice(f"scontrol show job {job}").stdout.split()
    return next((w.partition("=")[2] for w in words if w.startswith(name + "=")), "")


def node_state(node: str) -> str:
    """Return the state of a node, such as "idle", "down*" or "drained"."""
    return alice(f"sinfo -h -n {node} -p batch -o %T").stdout.strip()


def wait_for(condition, expected, patience: float = PATIENCE) -> None:
    """Wait until a function's answer is the expected one.

    :raises AssertionError: it is not within ``patience`` seconds; with the last answer.
    """
    end = time.monotonic() + patience
    while (found := condition()) != expected:
        assert time.monotonic() < end, f"{found}, not {expected}, after {patience} s"
        time.sleep(0.5)


def set_state(node: str, state: str) -> None:
    """Set a node's state as an administrator: "drain", "down" or "resume"."""
    root("login", f"scontrol update nodename={node} state={state} reason=test")
