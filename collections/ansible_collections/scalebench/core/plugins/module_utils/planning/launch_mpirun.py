"""Open MPI's launcher over ssh, for Horovod, and horovodrun, which calls it; or Slurm's srun."""

from __future__ import annotations

import json
import re
import shlex
from ipaddress import IPV4LENGTH, IPv4Address, IPv4Network
from typing import Any, Dict, List, Tuple

from ..records.node_names import folded
from ..slurm import srun
from .launch_job import Job, Started

__all__ = ["by_srun", "horovodrun", "mpirun"]

# Options of mpirun that srun is given anyway, or needs not: by their values, None for a flag.
_ANYWAY = {"bind-to": "none", "map-by": "slot", "oversubscribe": None, "allow-run-as-root": None}
# Options of mpirun that hold for one part of its command line, by the number of their values: -x
# in 4.1, by its manual -mca too.
_OF_A_PART = {"mca": 2, "x": 1}
# How many ssh mpirun runs at once by default. They stay, so with more nodes it refuses to start:
# "a scenario that will cause the system to deadlock".
_MOST_SSH = 128
_IPV4 = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}")


def mpirun(job: Job, name: str) -> Started:
    """Return ``host_ranks.py``, the parent of the ranks on a node; the leading node runs mpirun.

    Each node has its own part of the command line, so that paths may differ. Ranks inherit the
    environment of ``host_ranks.py`` on their node, so nothing is exported with ``-x``. Processes
    are not bound to cores, as a rank has threads.

    :param name: one of the job's nodes.
    :raises ValueError: the interface between the nodes is unknown, or a word of the command has a
        meaning for mpirun.
    """
    if name != job.names[0]:
        return _hosted(job, name)
    # The flag, not OMPI_ALLOW_RUN_AS_ROOT: version 3.1 in NVIDIA's images reads no variables.
    words = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--map-by", "slot"]
    # ssh stays as long as the ranks of its node; version 5 has no parameter for that.
    words += ["--leave-session-attached"]
    words += ["--oversubscribe"] if job.cell["device"] == "cpu" else []
    for key, value in _parameters(job).items():
        words += ["--gmca", key, value]
    given = [str(word) for word in job.options.get("arguments", [])]
    words += given
    for place, node in enumerate(job.names):
        words += [":", *_of_a_part(given)] if place else []
        words += ["-np", str(job.per_node), "-host", f"{job.nodes[node]['address']}:{job.per_node}"]
        command = job.command(node)
        if ":" in command:
            raise ValueError(f"{job.cell['directory']}: mpirun takes ':' for the end of a command")
        if "container" not in job.recipe:
            # A folder that exists on the node; the default exists in containers only.
            words += ["-wdir", job.nodes[node]["workload_dir"]]
        words += command
    return _hosted(job, name, *words)


def _of_a_part(words: List[str]) -> List[str]:
    """Return those of mpirun's options, with their values, that each part of its line needs."""
    found: List[str] = []
    for place, word in enumerate(words):
        values = _OF_A_PART.get(word.lstrip("-"), 0) if word.startswith("-") else 0
        found += words[place : place + 1 + values] if values else []
    return found


def horovodrun(job: Job, name: str) -> Started:
    """Return a node's command with horovodrun, which runs mpirun without binding, and as root.

    Its versions differ in the options they pass to mpirun, so these are in the environment.

    :raises ValueError: the command is not the same on all nodes, as horovodrun needs it.
    """
    command = _same_command(job, name, "horovodrun", ", or use mpirun")
    hosts = ",".join(f"{job.nodes[node]['address']}:{job.per_node}" for node in job.names)
    ranks = str(len(job.names) * job.per_node)
    words = ["horovodrun", "-np", ranks, "-H", hosts, *job.options.get("arguments", []), *command]
    started = _hosted(job, name, *words)
    # mpirun's option. Version 5 does not read it; there ssh stays with the daemon's parent.
    parameters = {**_parameters(job), "orte_leave_session_attached": "1"}
    variables = {f"OMPI_MCA_{key}": value for key, value in parameters.items()}
    return Started(started.argv, {**variables, **started.environment})


def by_srun(job: Job, name: str) -> Started:
    """Return ``host_ranks.py`` on a node; the leading node runs srun, whose ranks it takes over.

    Of Open MPI's parameters and what mpirun exports, ranks read the variables.

    :raises ValueError: as for :func:`mpirun` and :func:`horovodrun`, or an option of theirs has no
        counterpart with srun.
    """
    command = _same_command(job, name, "srun", "")
    more, given = _translated(job)
    parameters = {f"OMPI_MCA_{key}": value for key, value in _of_ranks(job).items()}
    argv = [*_waiting(job, name, str(job.nodes[name]["slurm"]["host"])), f"--ranks={job.per_node}"]
    if name == job.names[0]:
        join = [*job.script(name, "join_ranks.py"), f"{job.leading['address']}:{job.port}"]
        hosts = [job.nodes[node]["slurm"]["host"] for node in job.names]
        ranks = [*more, *join, "-", "60", f"exec {shlex.join(command)}"]
        argv += ["--", *srun.ranks(job.leading["slurm"], hosts, job.per_node, ranks)]
    return Started(argv, {**parameters, **job.environment(name), **given})


def _translated(job: Job) -> Tuple[List[str], Dict[str, str]]:
    """Return options of srun and variables for the recipe's words for its launcher."""
    words = [str(word) for word in job.options.get("arguments", [])]
    variables: Dict[str, str] = {}
    # Ranks have a terminal, as with mpirun, or programs in C would keep their lines to the end.
    output = "--unbuffered"
    while words:
        option, *words = words
        name = option.lstrip("-") if job.recipe["launcher"] == "mpirun" else ""
        try:
            if name in ("mca", "gmca"):
                key, value, *words = words
                variables[f"OMPI_MCA_{key}"] = value
            elif name == "x":
                exported, *words = words
                key, sign, value = exported.partition("=")
                variables.update({key: value} if sign else {})
            elif name == "tag-output":
                output = "--label"
            elif name in _ANYWAY and _ANYWAY[name] in (None, *words[:1]):
                words = words[1:] if _ANYWAY[name] else words
            else:
                raise ValueError
        except ValueError:
            raise ValueError(
                f"{job.cell['directory']}: {job.recipe['launcher']}'s {option} in launcher_options"
                " means nothing to srun, which starts the ranks in a job of Slurm: leave it out"
            ) from None
    return [output], variables


def _same_command(job: Job, name: str, launcher: str, otherwise: str) -> List[str]:
    """Return the command of a node's ranks, which is that of all nodes.

    :raises ValueError: it is not.
    """
    command = job.command(name)
    # The leading node's is compared with all others, theirs with it.
    for other in job.names if name == job.names[0] else job.names[:1]:
        if job.command(other) != command:
            raise ValueError(
                f"{job.cell['directory']}: {launcher} starts one command on every node, but that of"
                f" {name} is {' '.join(command)} and that of {other}"
                f" {' '.join(job.command(other))}: give both the same folders{otherwise}"
            )
    return command


def _waiting(job: Job, name: str, known_as: str) -> List[str]:
    """Return the words of ``host_ranks.py`` on a node that is ``known_as`` so where ranks come."""
    where = f"{job.leading['address']}:{job.port}"
    return [*job.script(name, "host_ranks.py"), f"--job={where}", f"--node={known_as}"]


def _hosted(job: Job, name: str, *words: str) -> Started:
    """Return ``host_ranks.py`` on a node, with ``words``, the launcher, below the leading one."""
    argv = _waiting(job, name, name)
    if name == job.names[0]:
        ssh = f"--ssh-config={job.nodes[name]['ssh_config']}"
        argv += [ssh, f"--peers={json.dumps(_peers(job))}"]
        argv += ["--", *words]
    # Version 5 takes --gmca for the first node alone, and some parameters for none.
    parameters = {f"OMPI_MCA_{key}": value for key, value in _of_ranks(job).items()}
    return Started(argv, {**parameters, **_of_daemons(job), **job.environment(name)})


def _peers(job: Job) -> List[Dict[str, Any]]:
    """Return the nodes by address, together where the command of join_ranks.py is the same.

    Linux limits a word of a command line to 128 KiB: with a command for each of them, 580 nodes.
    """
    found: Dict[Tuple[str, ...], Dict[str, str]] = {}
    for node in job.names:
        join = tuple(job.script(node, "join_ranks.py"))
        found.setdefault(join, {})[job.nodes[node]["address"]] = node
    return [{"join": list(join), "nodes": nodes} for join, nodes in found.items()]


def _parameters(job: Job) -> Dict[str, str]:
    """Return Open MPI's parameters (ompi_info(1)) by name."""
    return {
        **_of_ranks(job),
        # Of both layers, or it listens on interfaces that the other nodes cannot reach.
        "oob_tcp_if_include": _interface(job),
        **{f"plm_rsh_{key}": value for key, value in _of_ssh(job).items()},
    }


def _of_ssh(job: Job) -> Dict[str, str]:
    """Return those of what starts the daemons, which each version has another prefix for."""
    # Only the leading node connects.
    parameters = {"no_tree_spawn": "1"}
    if len(job.names) > _MOST_SSH:
        parameters["num_concurrent"] = str(len(job.names))
    return parameters


def _of_daemons(job: Job) -> Dict[str, str]:
    """Return variables for the daemons of version 5, which have other names for parameters."""
    if len(job.names) == 1:
        return {}
    variables = {
        **{f"PRTE_MCA_plm_ssh_{key}": value for key, value in _of_ssh(job).items()},
        # Those of Debian 13 crash where a command line has several parts and a file has parameters
        # of all jobs (open-mpi/ompi issue 13303). The ranks read that file themselves.
        "PMIX_MCA_mca_base_param_files": "none",
    }
    if not all(job.share_machine(job.names[0], other) for other in job.names):
        # They refuse the loopback interface, which local nodes have.
        variables["PRTE_MCA_prte_if_include"] = _interface(job)
    return variables


def _of_ranks(job: Job) -> Dict[str, str]:
    """Return those of the ranks, however they are started."""
    parameters = {"pml": "ob1", "btl": "^openib", "btl_tcp_if_include": _interface(job)}
    if job.cell["device"] == "cpu":
        # With fewer cores than ranks a waiting rank must yield.
        parameters["mpi_yield_when_idle"] = "1"
    return parameters


def _interface(job: Job) -> str:
    """Return the interface, by name or network, that the nodes reach each other by."""
    named = {job.nodes[name]["interface"] for name in job.names}
    if len(named) == 1 and "" not in named:
        return str(named.pop())
    addresses = [job.nodes[name]["address"] for name in job.names]
    if not all(_IPV4.fullmatch(address) for address in addresses):
        raise ValueError(
            f"{job.cell['directory']}: mpirun needs the interface between {folded(job.names)}:"
            " set scalebench_interface to its name, or to its network as 10.11.0.0/24 where the"
            " names differ"
        )
    # Each node then takes the interface that has its own address. One network: of several, those
    # that a node is not in make Open MPI 4.1.4 use the loopback interface too.
    numbers = [int(IPv4Address(address)) for address in addresses]
    common = IPV4LENGTH - (min(numbers) ^ max(numbers)).bit_length()
    return str(IPv4Network((min(numbers), common), strict=False))
