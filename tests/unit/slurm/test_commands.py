"""The batch script and the command lines of Slurm's programs."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.node import nvidia_smi
from ansible_collections.scalebench.core.plugins.module_utils.slurm import commands
from ansible_collections.scalebench.core.plugins.module_utils.slurm.options import directives

ROOT = Path(__file__).resolve().parents[3]
KNOWN = yaml.safe_load((ROOT / "tests/unit/known_options.yml").read_text())
STEP = commands.step("7", "n2", "echo $HOME", {"HOME": "/home/alice", "LANG": ""})


def test_the_batch_script_asks_for_what_was_given():
    script = commands.batch_script("x", directives({"nodes": 2, "time": "1h"}))
    lines = [line for line in script.splitlines() if line.startswith("#SBATCH")]
    assert lines[0] == "#SBATCH --job-name=scalebench-x"
    assert lines[-2:] == ["#SBATCH --nodes=2", "#SBATCH --time=60"]
    flags = {re.match(r"#SBATCH --([a-z-]+)", line)[1] for line in lines}
    assert flags <= {*KNOWN["sbatch"]["options"]}


@pytest.fixture
def held(tmp_path):
    """Run the batch script with a stand-in of scontrol and without waiting; return its looks.

    Answers name steps, whose lines are as 22.05.8 prints them.
    """

    def run(answers, looks=40):
        script = commands.batch_script("x", [])
        for name, text in {
            "sleep": "exit 0",
            "scontrol": f"""
            echo "$*" >> {tmp_path}/asked
            n=$(wc -l < {tmp_path}/asked)
            [ "$n" -gt {looks} ] && kill "$PPID"
            answer=$(sed -n "${{n}}p" {tmp_path}/answers)
            [ "$answer" = fails ] && exit 1
            for step in $answer; do
              echo "StepId=$step UserId=2000 TimeLimit=UNLIMITED State=RUNNING Name=x Tasks=1"
            done""",
        }.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        (tmp_path / "answers").write_text("\n".join(answers) + "\n")
        done = subprocess.run(
            ["sh", "-c", script],
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"},
            check=False,
        )
        asked = (tmp_path / "asked").read_text().splitlines()
        assert {*asked} == {"--oneliner show step 7"}
        return done.returncode, len(asked)

    return run


def test_the_batch_script_ends_when_no_step_ran_for_ten_minutes(held):
    assert commands.LOOK_SECONDS * commands.IDLE_LOOKS == 600
    assert commands.LOOK_SECONDS >= 30, "slurmctld serves the whole cluster"
    assert held(["7.batch"] * 10 + ["7.extern 7.batch"] * 10) == (0, 20)


def test_a_step_keeps_the_nodes(held):
    assert held(["7.batch"] * 19 + ["7.batch 7.3"] + ["7.batch"] * 20, looks=40) == (0, 40)


def test_a_controller_of_slurm_that_does_not_answer_keeps_the_nodes(held):
    code, asked = held(["fails"] * 60, looks=60)
    assert code != 0
    assert asked == 61


def test_a_step_runs_a_command_on_one_node():
    assert STEP[0] == "srun"
    assert {"--jobid=7", "--overlap", "--nodelist=n2", "--nodes=1", "--ntasks=1"} <= {*STEP}
    assert STEP[-3:-1] == ["/bin/sh", "-c"]
    assert STEP[-1].endswith("; echo $HOME")


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_command_does_not_see_the_variables_of_its_step(shell):
    """torchrun and MPI systems would believe that their rank is the step's only one."""
    of_step = {"SLURM_PROCID": "0", "SLURMD_NODENAME": "n2", "SRUN_DEBUG": "3", "PMI_RANK": "0"}
    of_step |= {"PMI2_X": "a b", "PMIX_RANK": "0", "SLURM_TEXT": "one\ntwo"}
    kept = {"CUDA_VISIBLE_DEVICES": "0,1", "SLURMISH": "x", "MY_SLURM_NTASKS": "y", "PMIX": "z"}
    # A node's srun finds Slurm by it.
    kept |= {"SLURM_CONF": "/etc/own/slurm.conf"}
    command = commands.step("7", "n2", "cat; env", {})[-1]
    done = subprocess.run(
        [shell, "-c", command], env={**of_step, **kept, "PATH": os.environ["PATH"]},
        input="given\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = {line.partition("=")[0] for line in done.stdout.splitlines()}
    assert not names & {*of_step}
    assert {*kept} < names
    assert done.stdout.startswith("given\n") and not done.stderr


def test_a_step_that_cannot_be_created_is_not_waited_for_without_end():
    assert "--immediate=20" in STEP


def test_a_step_has_its_name_in_the_accounting():
    assert "--job-name=scalebench-1" in commands.step("7", "n2", "x", {}, "scalebench-1")


@pytest.mark.parametrize(
    ("of_step", "seen"), [({"CUDA_VISIBLE_DEVICES": "2,3"}, "2,3"), ({}, "unset")]
)
def test_a_command_learns_which_gpus_its_job_has(of_step, seen):
    command = commands.step("7", "n2", "echo ${SCALEBENCH_GPUS-unset}", {})[-1]
    environment = {**of_step, "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["sh", "-c", command], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{seen}\n"
    assert nvidia_smi.GIVEN == "SCALEBENCH_GPUS"


def test_the_limits_of_the_login_node_stay_there():
    assert "--propagate=NONE" in STEP
    assert "#SBATCH --propagate=NONE" in commands.batch_script("x", []).splitlines()


def test_a_step_has_its_own_environment_and_the_name_of_its_node():
    (export,) = [word for word in STEP if word.startswith("--export=")]
    given = dict(pair.split("=") for pair in export.partition("=")[2].split(","))
    assert given.pop("PATH").startswith("/usr/local/sbin:")
    marks = {"SCALEBENCH_NODE": "n2", "SCALEBENCH_SLURM_JOB": "7"}
    assert given == {"HOME": "/home/alice", **marks}


def test_a_value_with_a_comma_is_left_out_since_it_would_end_there():
    words = commands.step("7", "n2", "x", {"HOME": "/home/a,b"})
    assert not any("/home/a" in word for word in words)


@pytest.mark.parametrize(
    "words",
    [
        STEP[:-3],
        commands.describe_nodes("n[1-4]"),
        commands.describe_partition("batch"),
        commands.in_queue("7"),
        commands.waiting("batch"),
        commands.account("7"),
        commands.describe_job("7"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_each_program_knows_its_options(words):
    used = {word.partition("=")[0][2:] for word in words if word.startswith("--")}
    assert used
    assert used <= {*KNOWN[words[0]]["options"]}
