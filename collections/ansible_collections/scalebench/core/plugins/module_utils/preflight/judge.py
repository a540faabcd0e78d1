"""All checks of the preflight on all nodes, and the overall verdict."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import Any, Dict, Iterable, List, Mapping, Optional, Set, cast

from ..records.node_facts import NodeFacts, check_node_facts
from ..records.node_names import differing
from .diagnosis_checks import diagnosis_checks
from .gpu_checks import gpu_checks
from .host_checks import data_checks, fabric_checks, host_checks
from .transport_checks import transport_checks
from .verdict import FAIL, PASS, SKIP, WARN, Nodes, Row, verdict

__all__ = ["CHECKS", "judge"]

_ORDER = (FAIL, WARN, PASS, SKIP)
# Those whose failure may be accepted, whether these nodes have rows of them or not.
CHECKS = {
    *("GPUs", "GPU model", "GPUs on the bus", "driver", "CUDA of the driver", "CUDA", "NCCL"),
    *("GPU settings", "MIG", "NVSwitch", "persistence mode", "GPU memory", "Xid", "GPU processes"),
    *("nvidia-smi", "OFED", "InfiniBand", "GPUDirect RDMA", "InfiniBand in the container"),
    *("active InfiniBand ports", "image", "dataset", "dataset files", "system", "kernel"),
    *("authorised keys", "memlock", "disk", "clock", "ssh to all nodes", "interface"),
    *("bf16 on the CPU", "diagnosis", "transport"),
}
_NAMES = "correct it, or remove it from preflight_accepted: a name of the inventory, or a pattern"
_UNSEEN = (
    "fix this first: the node could not be examined further. Behind a jump host its way is"
    " scalebench_ssh_arguments, as ~/.ssh/config is not read"
)


def judge(
    nodes: Mapping[str, Mapping[str, Any]], expected: Optional[Mapping[str, Any]] = None
) -> Dict[str, Any]:
    """Return ``rows`` (failures first), ``verdict`` (the worst), ``counts`` and ``summary``.

    :param nodes: by name: ``fingerprint`` (module node_fingerprint_facts), the facts of module
        preflight_facts, ``dataset`` (module dataset_info), ``interface`` (of the ranks) and
        ``transport`` (that the inventory expects) where there is one; or ``problem`` alone, why the
        node could not be examined. A node whose facts do not fit ``NodeFacts`` is not fit. Beside
        them, where the inventory has them, ``expected`` of this node, and ``shared``, options that
        must be the same on all nodes.
    :param expected: the arguments of the checks: ``gpus``, ``gpu_model``, ``driver``,
        ``infiniband_devices``, ``infiniband_ports``, ``free_mib``, ``bfloat16``, where a node has
        none of its own; ``diagnosis``, ``exclude`` and ``excluded``. None, 0 and absent mean the
        same. ``accepted``: names of checks by node, or pattern of nodes as ``gpu0[1-4]``, whose
        failure is a warning, those of all nodes together; ``inventory``: all names that a pattern
        may mean, by default those of ``nodes``.
    :raises ValueError: an option differs that all nodes share, or names no checks.
    """
    _check_shared(nodes)
    given = _told(expected)
    seen: Dict[str, NodeFacts] = {}
    rows: List[Row] = []
    for name, node in nodes.items():
        try:
            seen[name] = _examined(node)
            seen[name]["expected"] = {**given, **_told(node.get("expected"))}
        except ValueError as error:
            rows.append(verdict("answer", name, FAIL, str(error), _UNSEEN))
    rows += gpu_checks(seen) + fabric_checks(seen)
    rows += data_checks(seen) + host_checks(seen) + diagnosis_checks(seen, given)
    rows += transport_checks(seen)
    accepted = _accepted([given, *(_told(node.get("expected")) for node in nodes.values())])
    rows = _with_accepted(rows, accepted, seen) + [
        verdict("preflight_accepted", pattern, WARN, "no node has this name", _NAMES)
        for pattern in accepted
        if not any(fnmatchcase(node, pattern) for node in given.get("inventory") or nodes)
    ]
    # The sort is stable, so that the rows of a check stay together.
    rows.sort(key=lambda row: _ORDER.index(row["verdict"]))
    counts = {word: len([row for row in rows if row["verdict"] == word]) for word in _ORDER}
    worst = next(word for word in _ORDER if counts[word] or word == SKIP)
    words = [f"{counts[word]} {word}" for word in _ORDER if counts[word]]
    summary = f"preflight of {len(nodes)} node(s): {', '.join(words)}"
    return {"rows": rows, "verdict": worst, "counts": counts, "summary": summary}


def _check_shared(nodes: Mapping[str, Mapping[str, Any]]) -> None:
    shared = {name: node.get("shared") or {} for name, node in nodes.items()}
    for key in dict.fromkeys(key for options in shared.values() for key in options):
        listed = differing(
            {name: json.dumps(options.get(key), default=str) for name, options in shared.items()}
        )
        if listed:
            raise ValueError(
                f"{key} differs between the nodes: {listed}. It holds for all of them: set it in"
                " group_vars/all, or with -e"
            )


def _told(expected: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {key: value for key, value in (expected or {}).items() if value}


def _examined(node: Mapping[str, Any]) -> NodeFacts:
    """Return the facts of a node.

    :raises ValueError: it could not be examined, or said what no check can rely on.
    """
    if node.get("problem"):
        raise ValueError(" ".join(str(node["problem"]).split()))
    return cast(NodeFacts, {**check_node_facts(node)})


def _accepted(expected: Iterable[Mapping[str, Any]]) -> Dict[str, Set[str]]:
    """Return the accepted checks by pattern, of all nodes together."""
    accepted: Dict[str, Set[str]] = {}
    for told in expected:
        for pattern, names in told.get("accepted", {}).items():
            if not isinstance(names, (str, list, tuple, set)):
                raise ValueError(
                    f"preflight_accepted: {pattern} has {names!r}: write its checks as [GPUs, OFED]"
                )
            accepted.setdefault(pattern, set()).update([names] if isinstance(names, str) else names)
    return accepted


def _with_accepted(rows: List[Row], accepted: Mapping[str, Set[str]], seen: Nodes) -> List[Row]:
    """Return the rows, accepted failures as warnings, and one for each name that is no check."""
    checks: Dict[str, Set[str]] = {name: set() for name in seen}
    for pattern, names in accepted.items():
        for node in seen:
            if fnmatchcase(node, pattern):
                checks[node] |= names
    todo = f"choose from {', '.join(sorted(CHECKS))}"
    return [
        _accept(row) if row["check"] in checks.get(row["node"], ()) else row for row in rows
    ] + [
        verdict("preflight_accepted", node, WARN, f"no check {check}", todo)
        for node, names in checks.items()
        for check in sorted(names - CHECKS)
    ]


def _accept(row: Row) -> Row:
    if row["verdict"] != FAIL:
        return row
    found, todo = f"{row['found']} (accepted)", f"preflight_accepted allows it; {row['todo']}"
    return verdict(row["check"], row["node"], WARN, found, todo)
