"""Waves as Ansible runs them: what each node does in one, and where everything is kept."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from . import launch, schedule
from .plan import seated
from .recipes import recipe_of
from .seating import device_ids, machines_shared

__all__ = ["build"]


def build(
    repeats: Sequence[Mapping[str, Any]],
    packing: str,
    benchmarks: Mapping[str, Mapping[str, Any]],
    nodes: Mapping[str, Mapping[str, Any]],
) -> List[Dict[str, Any]]:
    """Return the waves, each ``{"repeats", "shares", "seconds"}``.

    A repeat has ``packed_with``, the logs of those that run beside it. ``shares`` has, for each
    node with something to do, what it does at the same time: each the log that it works for and the
    arguments of module training_run: ``argv``, ``environment``, ``rank``, ``devices``,
    ``directory``, ``name``, ``output`` (the campaign's file for what it prints).

    :param repeats: with ``seconds``, in order.
    :param packing: one of ``options.PACKINGS``.
    :param benchmarks: checked definitions by name.
    :param nodes: by name, in seating order, what ``launch.commands`` needs and ``devices``.
    :raises ValueError: there is no such packing, or a repeat that the nodes cannot seat.
    """
    devices = {name: device_ids(name, node) for name, node in nodes.items()}
    if any(repeat["kind"] == "alone" for repeat in repeats):
        packing = "none"
    return [
        _wave(wave, repeats, benchmarks, nodes, packing == "devices")
        for wave in schedule.waves(repeats, devices, packing)
    ]


def _wave(
    wave: Mapping[str, Any],
    repeats: Sequence[Mapping[str, Any]],
    benchmarks: Mapping[str, Mapping[str, Any]],
    nodes: Mapping[str, Mapping[str, Any]],
    side_by_side: bool,
) -> Dict[str, Any]:
    members = [
        seated(repeats[seat["index"]], seat["node_names"], seat["devices"])
        for seat in wave["repeats"]
    ]
    logs = [member["log"] for member in members]
    crowded = machines_shared([member["cell"]["node_names"] for member in members], nodes)
    shares: Dict[str, List[Dict[str, Any]]] = {}
    for member in members:
        member["packed_with"] = [log for log in logs if log != member["log"]]
        member["shares_machine"] = crowded
        member["machines"] = {
            name: {"boot_id": nodes[name]["fingerprint"]["boot_id"]}
            for name in member["cell"]["node_names"]
        }
        for name, share in _shares(member, benchmarks, nodes, side_by_side).items():
            shares.setdefault(name, []).append(share)
    return {"repeats": members, "shares": shares, "seconds": wave["seconds"]}


def _shares(
    repeat: Mapping[str, Any],
    benchmarks: Mapping[str, Mapping[str, Any]],
    nodes: Mapping[str, Mapping[str, Any]],
    side_by_side: bool,
) -> Dict[str, Dict[str, Any]]:
    cell = repeat["cell"]
    recipe = recipe_of(benchmarks[cell["benchmark"]], cell)
    return {
        name: {
            "log": repeat["log"],
            "argv": command["argv"],
            "environment": command["env"],
            "rank": command["rank"],
            # None in particular: the node is the repeat's alone.
            "devices": cell["node_devices"][name] if side_by_side else [],
            "directory": cell["directory"],
            "name": repeat["name"],
            "output": repeat["logs"][name],
        }
        for name, command in launch.commands(cell, recipe, nodes).items()
    }
