"""What a node starts by srun: the ranks of an MPI system, or a command in a container.

Both are steps of the job that holds the node. Options: ``srun --help`` of Slurm 22.05, which tests
hold; those of containers: README.md of NVIDIA/pyxis 046f4149.
"""

from __future__ import annotations

import re
from typing import List, Mapping, Sequence, Tuple

__all__ = ["in_container", "mpi_of", "ranks", "starts_containers"]

# The job, which another run of the same plan has not, is known on the node only.
_STEP = 'exec "$0" --jobid="$SCALEBENCH_SLURM_JOB" "$@"'
# What it passes on beside the marks of the repeat: ranks get the environment of their node's
# supervisor.
_EXPORTED = ("PATH", "HOME", "SCALEBENCH_RUN")
_MPI = ("pmix", "pmi2")


def mpi_of(listed: str, wanted: str = "") -> str:
    """Return by which process manager srun starts MPI systems; empty where there is none.

    :param listed: the answer of ``srun --mpi=list``.
    :param wanted: what the user asks for; empty for pmix, or pmi2 where that is all there is.
    :raises ValueError: srun does not have it.
    """
    there = {*re.findall(r"[a-z0-9_]+", listed)}
    if not wanted:
        return next((name for name in _MPI if name in there), "")
    if wanted not in there or not wanted.startswith(_MPI):
        have = ", ".join(sorted(name for name in there if name.startswith(_MPI))) or "neither"
        raise ValueError(f"slurm_mpi={wanted}: of pmix and pmi2, srun --mpi=list has {have}")
    return wanted


def starts_containers(usage: str) -> bool:
    """Return whether the answer of ``srun --help`` has pyxis's option for an image."""
    return "--container-image" in usage


def ranks(
    srun: Mapping[str, str], hosts: Sequence[str], per_host: int, more: Sequence[str]
) -> List[str]:
    """Return the words that start ranks on hosts as one step, in the order of the hosts.

    ``--distribution=arbitrary`` takes the order of ``--nodelist``, which Slurm otherwise sorts.

    :param srun: ``path`` of the program and ``mpi``.
    :param more: more options, and the command of a rank.
    """
    listed = ",".join(host for host in hosts for _ in range(per_host))
    return [
        *_step(srun["path"], listed, len(hosts), len(hosts) * per_host),
        f"--ntasks-per-node={per_host}",
        "--distribution=arbitrary",
        "--overcommit",
        f"--mpi={srun['mpi']}",
        "--chdir=/",
        "--export=" + ",".join(_EXPORTED),
        *more,
    ]


def in_container(
    srun: Mapping[str, str],
    host: str,
    image: str,
    mounts: Sequence[Tuple[str, str]],
    passed_on: Sequence[str],
) -> List[str]:
    """Return the words before a command that run it in a container of its own on a host, by pyxis.

    :param image: as ``nvcr.io/nvidia/mxnet:19.07-py3``.
    :param mounts: folder on the host and in the container, read-only.
    :param passed_on: names of the variables that it gets, also where the image has others.
    """
    registry, slash, rest = image.partition("/")
    has_registry = slash and ("." in registry or ":" in registry)
    names = ",".join(passed_on)
    return [
        *_step(srun["path"], host, 1, 1),
        "--mpi=none",
        f"--export={names}",
        f"--container-image={registry}#{rest}" if has_registry else f"--container-image={image}",
        "--container-mounts=" + ",".join(f"{source}:{target}:ro" for source, target in mounts),
        f"--container-env={names}",
        "--container-writable",
        "--no-container-mount-home",
    ]


def _step(path: str, hosts: str, nodes: int, tasks: int) -> List[str]:
    return [
        *["/bin/sh", "-c", _STEP, path, "--overlap"],
        *[f"--nodelist={hosts}", f"--nodes={nodes}", f"--ntasks={tasks}"],
        *["--mem=0", "--cpu-bind=none", "--kill-on-bad-exit=1", "--propagate=NONE"],
    ]
