"""The command that each node of a cell runs: argument list and environment, purely."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, NamedTuple

from . import (
    launch_kvstore,
    launch_mpirun,
    launch_oneflow,
    launch_paddle,
    launch_per_node,
    launch_torchrun,
)
from .container import container_name, exec_command
from .launch_job import Job, Started

__all__ = ["LAUNCHERS", "Launcher", "commands"]

Command = Dict[str, Any]


class Launcher(NamedTuple):
    """How ranks are started on one of a job's nodes, and the data that a recipe may give for it.

    ``over_ssh``: the leading node's launcher starts those of the other nodes by ssh.
    """

    start: Callable[[Job, str], Started]
    options: Mapping[str, type]
    over_ssh: bool = False


LAUNCHERS: Mapping[str, Launcher] = {
    "horovodrun": Launcher(launch_mpirun.horovodrun, launch_mpirun.OPTIONS, over_ssh=True),
    "kvstore": Launcher(launch_kvstore.kvstore, launch_kvstore.OPTIONS),
    "mpirun": Launcher(launch_mpirun.mpirun, launch_mpirun.OPTIONS, over_ssh=True),
    "oneflow_launch": Launcher(launch_oneflow.oneflow_launch, launch_oneflow.OPTIONS),
    "paddle_launch": Launcher(launch_paddle.paddle_launch, launch_paddle.OPTIONS),
    "per_node": Launcher(launch_per_node.per_node, launch_per_node.OPTIONS),
    "torchrun": Launcher(launch_torchrun.torchrun, launch_torchrun.OPTIONS),
}


def commands(
    cell: Mapping[str, Any],
    recipe: Mapping[str, Any],
    nodes: Mapping[str, Mapping[str, Any]],
) -> Dict[str, Command]:
    """Return, per node of the cell, ``{"rank", "argv", "env"}``; rank 0 is the leading node.

    :param cell: one cell of ``matrix.expand``.
    :param recipe: what ``recipes.recipe_of`` returned for it.
    :param nodes: per node name: ``address``, ``interface`` (a name or a network, may be empty),
        ``rank_port``, ``ssh_config``, ``workload_dir``, ``sources_dir``, ``data_dir``, ``threads``
        (CPU threads a rank), ``pythons`` (interpreter by package set), ``container_engine``,
        ``fingerprint`` (its ``gpus``).
    :raises ValueError: a node of the cell is not among ``nodes``, a word of a command has more than
        one line, or what its launcher cannot do.
    """
    missing = [name for name in cell["node_names"] if name not in nodes]
    if missing:
        raise ValueError(f"{cell['directory']}: nothing is known of {', '.join(missing)}")
    job = Job(cell, recipe, nodes)
    found = {}
    for rank, name in enumerate(cell["node_names"]):
        started = LAUNCHERS[recipe["launcher"]].start(job, name)
        for word in (*started.argv, *started.environment.values()):
            _check_word(word, f"{cell['directory']}: the command on {name}")
        argv = started.argv
        if "container" in recipe:
            inside = container_name(cell["benchmark"], cell["recipe"])
            argv = exec_command(argv, started.environment, nodes[name], inside)
        found[name] = {"rank": rank, "argv": argv, "env": started.environment}
    return found


def _check_word(word: str, where: str) -> None:
    """Refuse what no launcher carries to its ranks unchanged; all else needs no quoting here."""
    if any(character in word for character in "\n\r\0"):
        raise ValueError(f"{where}: {word!r} has more than one line")
