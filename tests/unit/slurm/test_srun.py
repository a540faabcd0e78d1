"""What a node starts by srun: ranks of MPI systems, and commands in containers."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.slurm import srun

ROOT = Path(__file__).resolve().parents[3]
KNOWN = yaml.safe_load((ROOT / "tests/unit/known_options.yml").read_text())["srun"]["options"]
# Of 22.05, and of older ones, which name the program in each line.
LISTED = "MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\nspecific pmix plugin versions: pmix_v4\n"
OLDER = "srun: MPI types are...\nsrun: none\nsrun: openmpi\nsrun: pmi2\n"
SRUN = {"path": "/usr/bin/srun", "mpi": "pmix"}
RANKS = srun.ranks(SRUN, ["n2", "n1"], 2, ["--unbuffered", "--label", "python3", "train.py"])
INSIDE = srun.in_container(
    SRUN, "n2", "nvcr.io/nvidia/mxnet:19.07-py3", [("/opt/w", "/opt/w"), ("/d", "/data")], ["A"]
)


def test_pmix_is_taken_before_pmi2_and_without_both_there_is_none():
    assert srun.mpi_of(LISTED) == "pmix"
    assert srun.mpi_of(OLDER) == "pmi2"
    assert srun.mpi_of("MPI plugin types are...\n\tnone\n") == ""


def test_what_the_user_asks_for_is_taken_if_srun_has_it():
    assert srun.mpi_of(LISTED, "pmix_v4") == "pmix_v4"
    with pytest.raises(ValueError, match=r"slurm_mpi=pmix: .* srun --mpi=list has pmi2"):
        srun.mpi_of(OLDER, "pmix")
    with pytest.raises(ValueError, match="slurm_mpi=none"):
        srun.mpi_of(LISTED, "none")


def test_ranks_have_the_order_of_the_hosts_which_slurm_sorts_otherwise():
    assert "--nodelist=n2,n2,n1,n1" in RANKS
    assert {"--distribution=arbitrary", "--ntasks=4", "--ntasks-per-node=2", "--nodes=2"} <= {
        *RANKS
    }
    assert RANKS[-2:] == ["python3", "train.py"]


def test_the_job_is_known_where_it_starts():
    program = ["printf", "%s\n"]
    words = [*RANKS[:3], *program, *RANKS[4:6]]
    environment = {"PATH": os.environ["PATH"], "SCALEBENCH_SLURM_JOB": "7"}
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run([*RANKS[:3], "/none/srun"], env=environment, check=True, stderr=-3)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert "--jobid=7" in done.stdout + done.stderr


def test_a_container_is_a_step_with_image_mounts_and_variables():
    assert "--container-image=nvcr.io#nvidia/mxnet:19.07-py3" in INSIDE
    assert "--container-mounts=/opt/w:/opt/w:ro,/d:/data:ro" in INSIDE
    assert {"--export=A", "--container-env=A", "--nodelist=n2", "--mpi=none"} <= {*INSIDE}
    plain = srun.in_container(SRUN, "n2", "nvidia/cuda:11", [], [])
    assert "--container-image=nvidia/cuda:11" in plain


def test_pyxis_is_known_by_its_option():
    assert srun.starts_containers("      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH\n")
    # Of Slurm's own for OCI bundles.
    assert not srun.starts_containers(
        "      --container             Path to OCI container bundle\n"
    )


@pytest.mark.parametrize("words", [RANKS, INSIDE], ids=["ranks", "container"])
def test_srun_knows_the_options(words):
    used = {word.partition("=")[0][2:] for word in words[4:] if word.startswith("--")}
    assert used <= {"jobid", *KNOWN}
