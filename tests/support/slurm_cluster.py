"""Use and break the Slurm of a testbed: what its user and its administrator do, and real faults.

``scripts/testbed up slurm`` starts it. Everything goes through ssh: to the login node as alice, to
any node as root.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from testbed_nodes import ROOT, STATE

# A node that does not answer is down after SlurmdTimeout (15 s), at slurmctld's next look.
PATIENCE = 90
# The home folder of the user, as this machine sees it, and her number on the nodes.
HOME = STATE / "shared/home/alice"
ALICE = 2000
# What ansible-playbook needs, of this environment; the nodes have the same Python.
_PACKAGES = (
    *("ansible", "ansible_core-*", "jinja2*", "markupsafe", "packaging", "resolvelib"),
    *("rich", "yaml"),
)
_BENCHMARK = """\
---
# A benchmark that trains nothing: each of its ranks takes some seconds.
benchmark: fixed_time
model: fixed_time
factors:
  # Of cells that differ in nothing else.
  number: {type: count, token: "n{}"}
recipes:
  portable: &portable
    framework: none
    launcher: per_node
    program: [python3, "{workload_dir}/fixed_time.py"]
    choices: {precision: [fp32]}
    defaults:
      cpu:
        precision: [fp32]
        batch_size_per_device: [1]
        topology: [1n1g]
        number: [1]
        warmup: 2
        iterations: 5
    arguments: ["SECONDS", "{world_size}", "{total_iterations}", "{batch_size_per_device}"]
  # Its ranks ignore SIGTERM.
  deaf:
    <<: *portable
    program: [env, --ignore-signal=TERM, python3, "{workload_dir}/fixed_time.py"]
"""


def install(seconds: int) -> None:
    """Bring Scalebench and Ansible to the user's home folder.

    :param seconds: that each rank of benchmark fixed_time takes.
    """
    tree = HOME / "scalebench"
    # The folder outlives the nodes, and with it the claims of a run that was broken off.
    shutil.rmtree(HOME / ".scalebench", ignore_errors=True)
    for folder in (tree, HOME / "site"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    archive = subprocess.run(
        ["tar", "-c", "--null", "--files-from=-"],
        cwd=ROOT, input=files.stdout, capture_output=True, check=True,
    )  # fmt: skip
    subprocess.run(["tar", "-x"], cwd=tree, input=archive.stdout, check=True)
    packages = Path(sysconfig.get_path("purelib"))
    for folder in (found for pattern in _PACKAGES for found in packages.glob(pattern)):
        shutil.copytree(folder, HOME / "site" / folder.name)
    (HOME / "benchmarks").mkdir(exist_ok=True)
    (HOME / "benchmarks/fixed_time.yml").write_text(_BENCHMARK.replace("SECONDS", str(seconds)))
    subprocess.run(["chown", "-R", f"{ALICE}:{ALICE}", HOME], check=True)


def bench(campaign: str, options: dict[str, object]) -> list[str]:
    """Return the command that runs bench.yml with benchmark fixed_time as the user.

    :param options: of bench.yml, beside those that this benchmark needs here.
    """
    given = _given(campaign, "/shared/home/alice", options)
    command = (
        "cd scalebench && PYTHONPATH=$HOME/site python3 -m ansible.cli.playbook"
        f" -i inventory/slurm playbooks/bench.yml -e {shlex.quote(json.dumps(given))}"
    )
    return login(command)


def bench_by_ssh(campaign: str, results: Path, options: dict[str, object]) -> list[str]:
    """Return the command that runs the same as :func:`bench`, from here and by ssh.

    :param results: the folder of campaigns.
    """
    # The nodes' own sshd, as root: the users' way to them is Slurm.
    reach = {"scalebench_first_contact": True, "campaign_results_dir": str(results)}
    given = _given(campaign, str(HOME), {**reach, **options})
    playbook = [sys.executable, "-m", "ansible.cli.playbook", str(ROOT / "playbooks/bench.yml")]
    return [*playbook, "-i", str(ROOT / "inventory/testbed"), "-e", json.dumps(given)]


def _given(campaign: str, home: str, options: dict[str, object]) -> dict[str, object]:
    """Return the options of bench.yml; ``home`` is the user's as the controller sees it."""
    return {
        "campaign": campaign,
        "benchmark": "fixed_time",
        "campaign_benchmarks_dir": f"{home}/benchmarks",
        "workload_dir": "/shared/home/alice/scalebench/tests/benchmarks/workloads",
        "framework_python": "/usr/bin/python3",
        "preflight": False,
        "report_plots": False,
        **options,
    }


def login(command: str) -> list[str]:
    """Return what runs a command of the shell as the user on the login node."""
    return ["ssh", "-F", str(STATE / "ssh_config"), "-o", "BatchMode=yes", "alice@login", command]


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
