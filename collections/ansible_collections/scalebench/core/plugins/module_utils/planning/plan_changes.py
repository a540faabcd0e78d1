"""A campaign that is continued: differences that prevent it, and nodes that are not there."""

from __future__ import annotations

import json
import re
from typing import Any, Container, Dict, Iterable, List, Mapping, Optional, Set, cast

from ..records.cells import cell_path
from ..records.factors import factor_values
from ..records.node_names import by_words
from ..records.plans import Cell, Framework, Node, Nodes, Plan, Settings
from .options import as_arguments

__all__ = [
    "changed_files",
    "check_same",
    "check_software",
    "differences",
    "other_trainers",
    "replaced",
    "settings_of",
    "software_changes",
    "with_absent",
]

# Changes that a message names.
_MOST = 5
# Packages that install others and that no training imports.
_TOOLS = ("pip", "setuptools", "wheel")
# Hardware that must stay the same for two sessions of a campaign.
_HARDWARE = ("hostname", "machine_id", "cpu_model", "cores", "gpus")
# The smallest network with all addresses of a cell follows from them: launch_mpirun.
_NETWORK = re.compile(r"OMPI_MCA_btl_tcp_if_include=[0-9./]+")
# What of it a machine does not share with another of the same kind.
_OWN = ("hostname", "machine_id")
# Of a node that is there: found anew each time.
_FOUND = ("fingerprint", "lost", "workload", "unusable")
# What planning reads of every fingerprint.
_NEEDED = ("boot_id", "cores", "gpus")
_ABSENT = "it is not in this run (--limit)"


def replaced(
    hosts: Mapping[str, str], planned: Optional[Mapping[str, str]] = None
) -> Dict[str, str]:
    """Return by node, where another host stands in for it, a sentence that says so.

    :param hosts: the hosts by node.
    :param planned: those that the campaign was planned with, where they are not called like the
        nodes. None before it was planned: there is no hardware to compare with, and the cause is
        that the preflight failed.
    """
    why = "since the preflight failed" if planned is None else "of the same hardware"
    before = {name: (planned or {}).get(name, name) for name in hosts}
    return {
        name: f"{before[name]} was replaced by {host}, {why}"
        for name, host in hosts.items()
        if host != before[name]
    }


def check_same(
    campaign: str,
    kept: Plan,
    wanted: Plan,
    of_variables: Iterable[str] = (),
    others: Container[str] = (),
) -> None:
    """Refuse to continue a campaign with another plan.

    :param of_variables: the wanted options that variables of the inventory or the play gave.
    :param others: the nodes that other machines stand in for.
    :raises ValueError: the first differences, and what to do.
    """
    different = differences(kept, wanted, others)
    if different:
        options = [plan.get("options") or {} for plan in (kept, wanted)]
        sources = "".join(
            f". {name} comes from a variable of the inventory; campaign_{name}: '' keeps it out"
            for name in of_variables
            if options[0].get(name) != options[1].get(name)
        )
        todo = f"Give the options it was made with ({as_arguments(options[0]) or 'none'}), or"
        if options[0] == options[1]:
            todo = (
                "The options are the same, so inventory, benchmark file or Scalebench changed since"
                f" {_commit(kept)}: give"
            )
        if {*wanted["nodes"]} > {*kept["nodes"]}:
            todo = f"Go on with its own nodes, --limit {','.join(kept['nodes'])}, or give"
        raise ValueError(
            f"campaign {campaign} was made with another plan: {'; '.join(different[:5])}"
            f"{'; …' if len(different) > 5 else ''}. {todo} another -e campaign=NAME{sources}"
        )


def differences(old: Plan, new: Plan, others: Container[str] = ()) -> List[str]:
    """Return the differences that prevent plan ``new`` from continuing plan ``old``, as text.

    :param others: as for :func:`check_same`; of these, only the hardware must be the same.
    """
    changes = []
    reached = [plan.get("carrier", "ssh") for plan in (old, new)]
    if reached[0] != reached[1]:
        changes.append(f"its nodes were reached by {reached[0]}, are by {reached[1]}")
    names: Set[str] = {*old["nodes"], *new["nodes"]}
    for name in sorted(names):
        before, now = old["nodes"].get(name), new["nodes"].get(name)
        if before is None or now is None:
            changes.append(f"node {name} is only in the {'new' if before is None else 'old'} plan")
            continue
        for key in _HARDWARE:
            if name in others and key in _OWN:
                continue
            if _kind(before, key, name in others) != _kind(now, key, name in others):
                changes.append(f"{name}: {key} was {before.get(key)!r}, is {now.get(key)!r}")
    changes += _variant_changes(old, new)
    was, wanted = (
        {cell_path(cell): _essence(cell, _addresses(plan, others)) for cell in plan["cells"]}
        for plan in (old, new)
    )
    for cell in sorted({*was, *wanted}):
        if cell not in wanted:
            changes.append(f"{cell} was planned and is not requested now")
        elif cell not in was:
            changes.append(f"{cell} is requested now and was not planned")
        else:
            changes += [
                f"{cell}: {field} was {_shown(was[cell], wanted[cell], field)},"
                f" is {_shown(wanted[cell], was[cell], field)}"
                for field in sorted({*was[cell], *wanted[cell]})
                if was[cell].get(field) != wanted[cell].get(field)
            ]
    return changes


def check_software(campaign: str, kept: Plan, wanted: Plan, accept: bool) -> List[str]:
    """Return what changed of trainers and frameworks since the plan, in words.

    :raises ValueError: something did, and ``accept`` is not given.
    """
    changes = software_changes(kept, wanted)
    if changes and not accept:
        raise ValueError(
            f"campaign {campaign}: what it measures changed since it was planned:"
            f" {'; '.join(changes[:_MOST])}{'; …' if len(changes) > _MOST else ''}. Restore it and"
            " run provision.yml, give another -e campaign=NAME, or go on with -e"
            " accept_changes=true, which the report states"
        )
    return changes


def software_changes(kept: Plan, wanted: Plan) -> List[str]:
    """Return how trainers and packages differ; packages that a plan does not know do not."""
    changes = []
    trainers = kept.get("workload")
    if trainers and wanted.get("workload"):
        changes += [f"trainer {text}" for text in changed_files(trainers, wanted["workload"])]
    elif wanted.get("workload"):
        # Version 0.1 did not list them, and its trainers are others.
        changes.append(f"trainers perhaps: plan.json, of {_commit(kept)}, does not list them")
    of_nodes = [
        (name, text)
        for name in wanted["nodes"]
        for text in _package_changes(
            kept["nodes"].get(name, {}).get("frameworks") or {},
            wanted["nodes"][name].get("frameworks") or {},
        )
    ]
    return changes + by_words(of_nodes)


def _commit(kept: Plan) -> str:
    """Return the commit of Scalebench that made a plan, in words."""
    commit = (kept.get("controller") or {}).get("commit")
    return f"commit {commit!s:.12}" if commit else "an unknown commit"


def changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> List[str]:
    """Return how files differ, by their digests."""
    changes = []
    for path in sorted({*before, *now}):
        if before.get(path) != now.get(path):
            how = "is gone" if path not in now else "changed" if path in before else "is new"
            changes.append(f"{path} {how}")
    return changes


def other_trainers(copied: Mapping[str, str], on_nodes: Mapping[str, str]) -> List[str]:
    """Return the trainers on the nodes that role workload would replace, as after an upgrade.

    :param copied: digests by path of what it copies, and ``on_nodes`` of what is there.
    """
    return [path for path in sorted(copied) if copied[path] != on_nodes.get(path, copied[path])]


def _package_changes(
    before: Mapping[str, Optional[Framework]], now: Mapping[str, Optional[Framework]]
) -> List[str]:
    changes = []
    for name in sorted({*before} & {*now}):
        old, new = before[name] or {}, now[name] or {}
        was, found = old.get("packages") or {}, new.get("packages") or {}
        # An environment that is not there is a matter of its own.
        for package in sorted({*was, *found} - {*_TOOLS}) if was and found else ():
            if was.get(package) != found.get(package):
                changes.append(
                    f"{name}: {package} was {was.get(package, 'absent')},"
                    f" is {found.get(package, 'absent')}"
                )
    return changes


def _variant_changes(old: Plan, new: Plan) -> List[str]:
    """Return the variants that changed, which paths and commands of cells do not show."""
    before, now = (plan.get("variants") or {} for plan in (old, new))
    return [
        f"benchmark {name}: its variants were {before.get(name)}, are {now.get(name)}"
        for name in sorted({*before, *now})
        if json.dumps(before.get(name)) != json.dumps(now.get(name))
    ]


def _kind(node: Mapping[str, Any], key: str, of_another: bool) -> Any:
    """Return a node's hardware; where another machine may have it, GPUs without their serials."""
    found = node.get(key)
    if not of_another or key != "gpus":
        return found
    return [{name: gpu.get(name) for name in ("name", "memory_mib")} for gpu in found or ()]


def _addresses(plan: Plan, others: Container[str]) -> Dict[str, str]:
    """Return the nodes that other machines stand in for, by their names in commands."""
    settings = plan.get("settings") or {}
    return {
        str(known_as): name
        for name, node in settings.items()
        if name in others
        for known_as in (node["address"], node.get("slurm", {}).get("host", name))
    }


def _essence(cell: Cell, nodes: Mapping[str, str]) -> Dict[str, Any]:
    """Return what makes the cell what it is, each node's command as a list of words.

    What a benchmark states of its model, with sources, or its program changes nothing that runs.

    :param nodes: nodes by addresses that commands may differ in.
    """
    apart = ("estimate_seconds", "commands", "own_factors", "model_data", "loss_scaling")
    kept = {key: value for key, value in cell.items() if key not in apart}
    kept.update(factor_values(cell))
    for node, command in cell["commands"].items():
        words = [f"{name}={value}" for name, value in command["env"].items()]
        words = [word for word in words if not (nodes and _NETWORK.fullmatch(word))]
        words += command["argv"]
        for address, name in nodes.items():
            # 10.0.0.1 is no part of 10.0.0.12.
            whole = re.compile(rf"(?<![\w.]){re.escape(address)}(?![\w.])")
            words = [whole.sub(name, word) for word in words]
        kept[f"command on {node}"] = words
    return kept


def _shown(cell: Mapping[str, Any], other: Mapping[str, Any], field: str) -> str:
    """Return a field's value; of a list only what the other does not have."""
    value, against = cell.get(field), other.get(field)
    if isinstance(value, list) and isinstance(against, list):
        return " ".join(str(item) for item in value if item not in against) or "without it"
    return repr(value)


def settings_of(nodes: Nodes) -> Dict[str, Settings]:
    """Return what a plan keeps of its nodes beside their fingerprints, in seating order."""
    return {
        name: cast(Settings, {key: value for key, value in node.items() if key not in _FOUND})
        for name, node in nodes.items()
    }


def with_absent(nodes: Nodes, kept: Plan) -> Dict[str, Node]:
    """Return the nodes of a kept plan in its order; those that this run lacks are lost.

    So their cells are unavailable, and those of the other nodes are planned as they were.

    :param nodes: of this run; those that the plan does not know follow the others.
    :param kept: a plan of before ``settings`` tells too little, and ``nodes`` are returned.
    :raises ValueError: the plan does not have of an absent node what planning needs.
    """
    whole: Dict[str, Node] = {}
    for name, settings in kept.get("settings", {}).items():
        if name in nodes:
            whole[name] = nodes[name]
            continue
        fingerprint = kept["nodes"].get(name, {})
        missing = [key for key in _NEEDED if key not in fingerprint]
        if missing:
            raise ValueError(f"plan.json has no {', '.join(missing)} of {name}: restore the file")
        whole[name] = cast(Node, {**settings, "fingerprint": fingerprint, "lost": _ABSENT})
    return {**whole, **nodes}
