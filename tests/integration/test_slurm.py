"""The playbooks by Slurm, with stand-ins of its programs that say what Debian's 22.05 says."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from local_nodes import ROOT
from trainers import interpreter

# What srun says of itself: --mpi=list, and help without pyxis.
OF_SRUN = "case $1 in --mpi=list|--help) echo pmix; exit;; esac"
PROGRAMS = {
    # In a real srun the command is the last word; here it runs on this machine.
    "srun": 'for last; do :; done; exec /bin/sh -c "$last"',
    "squeue": "echo 'RUNNING|None|2026-11-23T00:56:18|n1|1:00:00|batch|7'",
    "scontrol": "echo 'NodeName=n1 CPUTot=2 NodeAddr=127.0.0.1 RealMemory=1000 State=IDLE'",
    "sbatch": '[ "$1" = --parsable ] && echo 7 || echo "sbatch: Job 7 to start at'
    ' 2026-11-23T00:56:17 using 2 processors on nodes n1 in partition batch" >&2',
    "scancel": "",
}


@pytest.fixture
def cluster(tmp_path):
    """Return a function that runs a playbook, and one that lists what Slurm was asked."""
    calls = tmp_path / "calls"

    def says(program, script):
        path = tmp_path / program
        path.write_text(f'#!/bin/sh\necho "{program} $*" >> {calls}\n{OF_SRUN}\n{script}\n')
        path.chmod(0o755)

    for program, script in PROGRAMS.items():
        says(program, script)
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
    }
    # Not what these tests are about: a second Python with the framework.
    python = interpreter("pytorch", "torch", "pytorch")

    variables = {
        "scalebench_state_dir": tmp_path / "state",
        "framework_python": python,
        "ansible_python_interpreter": sys.executable,
    }

    def run(playbooks, *more):
        given = [word for key, value in variables.items() for word in ("-e", f"{key}={value}")]
        paths = [f"playbooks/{playbook}" for playbook in playbooks.split()]
        return subprocess.run(
            ["ansible-playbook", "-i", "inventory/example_slurm", *paths, *given, *more],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return SimpleNamespace(
        run=run,
        says=says,
        calls=lambda: calls.read_text().splitlines() if calls.exists() else [],
        workloads=tmp_path / ".scalebench/workloads",
    )


def test_provisioning_on_the_login_node_needs_no_job_and_a_second_run_changes_nothing(cluster):
    shown = cluster.run("provision.yml", "--check")
    assert "would change: workload : Copy the trainers (login_node)" in shown.stdout
    assert not cluster.workloads.exists()
    done = cluster.run("provision.yml")
    assert done.returncode == 0, done.stdout
    assert "is left to an administrator, who runs provision.yml over ssh" in done.stdout
    assert (cluster.workloads / "resnet50/train_pytorch.py").exists()
    again = cluster.run("provision.yml")
    assert "changed:" not in again.stdout
    assert "login_node                 : ok=" in again.stdout
    assert cluster.calls() == []


def test_in_a_job_one_node_writes_what_all_share_and_the_job_is_given_back(cluster):
    first = PROGRAMS["scontrol"]
    cluster.says("scontrol", first + "\n" + first.replace("n1 ", "n2 "))
    words = ("-e", "slurm_provision_on=job", "-e", "slurm_nodes=2")
    done = cluster.run("provision.yml", *words)
    assert done.returncode == 0, done.stdout
    assert "changed: workload : Copy the trainers (n1)" in done.stdout
    assert "n2                         : ok=" in done.stdout
    assert cluster.calls()[-1] == "scancel 7"
    # No sshd is set up, and ranks need none.
    assert not (cluster.workloads.parent / "nodes/n1/sshd").exists()


@pytest.mark.parametrize(("free", "code"), [("1", 0), ("99999999", 2)])
def test_the_preflight_gets_a_job_and_gives_it_back_whatever_it_finds(cluster, free, code):
    words = ("-e", "slurm_nodes=1", "-e", f"preflight_free_mib={free}")
    done = cluster.run("preflight.yml", *words)
    assert done.returncode == code, done.stdout
    assert "preflight of 1 node(s): " in done.stdout
    assert "ssh" not in done.stdout
    assert cluster.calls()[-1] == "scancel 7"


def test_a_playbook_of_the_same_run_takes_the_nodes_that_are_there(cluster):
    words = ("-e", "slurm_nodes=1", "-e", "slurm_provision_on=job")
    done = cluster.run("provision.yml preflight.yml", *words)
    assert done.returncode == 0, done.stdout
    assert "preflight of 1 node(s): " in done.stdout
    assert sum(line == "sbatch --parsable" for line in cluster.calls()) == 1


def test_a_variable_of_a_wrong_type_is_told_before_a_job_is_asked_for(cluster):
    given = '{"slurm_time": 28800, "slurm_nodes": 1, "slurm_gpus_per_node": 8}'
    done = cluster.run("preflight.yml", "-e", given)
    assert done.returncode == 2
    assert "localhost: slurm_time is a whole number, not text" in " ".join(done.stdout.split())
    assert cluster.calls() == [] and "slurm_gpus_per_node" not in done.stdout


def test_diagnose_needs_the_number_of_nodes(cluster):
    done = cluster.run("diagnose.yml")
    assert "slurm_nodes is not set, and -e topology= says no number" in done.stdout
    assert not any(line == "sbatch --parsable" for line in cluster.calls())


# A cluster of nodes of which each job gets those of --nodelist, or n1 and n2. A job has the id of
# its line in sbatch.jobs. The disk of n2 cannot be written.
CLUSTER = {
    "srun": """case "$*" in *--nodelist=n2*)
echo "mkdir: cannot create directory '/home/alice': Read-only file system" >&2; exit 1;; esac
for last; do :; done; exec /bin/sh -c "$last\"""",
    "sbatch": """script=$(cat)
nodes=$(echo "$script" | sed -n 's/^#SBATCH --nodelist=//p')
excluded=$(echo "$script" | sed -n 's/^#SBATCH --exclude=//p')
if [ -z "$nodes" ]; then case $excluded in *n1*) nodes=n3;; *) nodes=n1,n2;; esac; fi
if [ "$1" = --parsable ]; then
    echo "nodes=$nodes without=$excluded" >> "$0.jobs"
    echo "$nodes" > "$0.nodes"
    wc -l < "$0.jobs"
else
    echo "sbatch: Job 9 to start at 2026-11-23T00:56:17 using 4 processors" \\
        "on nodes $nodes in partition batch" >&2
fi""",
    "squeue": """job=$(echo "$*" | sed 's/.*--jobs=//; s/ .*//')
nodes=$(cat "${0%squeue}sbatch.nodes")
echo "RUNNING|None|2026-11-23T00:56:18|$nodes|1:00:00|batch|$job\"""",
    "scontrol": """for last; do :; done
for node in $(echo "$last" | tr , ' '); do
    echo "NodeName=$node CPUTot=2 NodeAddr=127.0.0.1 RealMemory=1000 State=IDLE"
done""",
}


@pytest.mark.parametrize("times", [1, 0])
def test_nodes_that_fail_the_preflight_are_left_out_as_often_as_said(cluster, tmp_path, times):
    for program, script in CLUSTER.items():
        cluster.says(program, script)
    workloads = str(ROOT / "tests/benchmarks/workloads")
    words = {
        "benchmark": "fixed_time",
        "campaign_benchmarks_dir": workloads,
        "campaign_workload_dir": workloads,
        "campaign_results_dir": str(tmp_path / "results"),
        "campaign": "c",
        "topology": "1n1g,2n1g",
        "repeats": 1,
        "campaign_free_mib": 1,
        "preflight_free_mib": 1,
        "slurm_exclude_unfit": times,
    }
    done = cluster.run("bench.yml", "-e", json.dumps(words))
    jobs = (tmp_path / "sbatch.jobs").read_text().splitlines()
    said = [line for line in cluster.calls() if line.startswith("scancel")]
    if not times:
        assert done.returncode == 2
        assert (len(jobs), said) == (1, ["scancel 1"])
        return
    assert done.returncode == 0, done.stdout
    assert jobs == ["nodes=n1,n2 without=", "nodes=n1,n3 without=n2"]
    assert said == ["scancel 1", "scancel 2"]
    assert "left out after a failed preflight: n2" in done.stdout
    folder = tmp_path / "results/c"
    assert "n2 was replaced by n3, since the preflight failed" in (folder / "report.md").read_text()
    results = json.loads((folder / "results.json").read_text())
    assert [cell["state"] for cell in results["cells"]] == ["measured", "measured"]
    steps = [line for line in cluster.calls() if "--jobid=2 " in line]
    assert {n for n in ("n1", "n2", "n3") if any(f"--nodelist={n} " in s for s in steps)} == {
        "n1",
        "n3",
    }
    # The stand-in has the name of n2, and not its folder.
    assert {folder.name for folder in (tmp_path / ".scalebench/nodes").iterdir()} == {"n1", "n3"}
    # Continued, it asks for the hosts that it ran on, not for those that its nodes are called by.
    again = cluster.run("bench.yml", "-e", json.dumps(words))
    assert again.returncode == 0, again.stdout
    assert (tmp_path / "sbatch.jobs").read_text().splitlines()[2:] == ["nodes=n1,n3 without="]
