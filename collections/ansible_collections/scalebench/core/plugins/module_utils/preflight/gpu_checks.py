"""Checks of the GPUs: number and model, software, settings, health, processes that use them."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..records.node_facts import CudaState, NodeFacts
from .verdict import (
    FAIL,
    PASS,
    SKIP,
    WARN,
    Nodes,
    Row,
    agreement,
    by_model,
    gpus_of,
    model_of,
    verdict,
)

__all__ = ["cuda_problem", "gpu_checks"]

# Xid errors after which results are wrong or the GPU is lost: double-bit ECC, NVLink, contained and
# uncontained ECC, fallen off the bus, GSP without answer or in error (NVIDIA, "XID Errors").
_FATAL_XID = frozenset((48, 62, 64, 74, 79, 94, 95, 119, 120))
# Meaning of a CUresult and what to do (CUDA driver API, types of data: CUresult).
_CUDA_ERRORS: Mapping[int, Tuple[str, str]] = {
    34: ("libcuda.so.1 is the toolkit's stub", "take its folder out of LD_LIBRARY_PATH"),
    46: (
        "a GPU is busy or unavailable",
        "see who holds it (nvidia-smi -q -d COMPUTE), or reset it",
    ),
    100: ("no CUDA device", "see /dev/nvidia* and their permissions, and dmesg | grep NVRM"),
    802: ("system not ready", "start nvidia-fabricmanager in the driver's version (NVSwitch)"),
    803: ("libcuda and the kernel module differ in version", "reboot the node"),
    804: ("these GPUs do not support forward compatibility", "remove the package cuda-compat"),
    999: ("unknown error", "load nvidia_uvm (modprobe nvidia_uvm), see dmesg | grep NVRM"),
}
# Key of a GPU's health, verdict, words, advice.
_REPAIRS = (
    ("repair_failed", FAIL, "row remapping failed", "replace the GPU: it has no spare rows left"),
    (
        *("repair_pending", WARN, "repair pending"),
        "reset the GPU or reboot the node, so that the faulty memory is retired",
    ),
)
_NO_GPU = "the node has no NVIDIA GPU"


def gpu_checks(nodes: Nodes) -> List[Row]:
    """Return the rows about GPUs.

    :param nodes: with optional ``gpus`` (their number), ``gpu_model`` (a part of the name) and
        ``driver`` in ``expected``; an absent one is the value of most nodes.
    """
    rows = _presence(nodes)
    install = "install {wanted} on this node as on the others: playbooks/provision.yml"
    todo = "set clocks, power limit, ECC and persistence as on the others: nvidia-smi -q"
    for alike in by_model(nodes):
        rows += agreement("driver", alike, _driver, FAIL, install, "driver")
        for check, key in (("CUDA of the driver", "cuda_driver"), ("NCCL", "nccl")):
            rows += agreement(check, alike, _of_fingerprint(key), FAIL, install)
        rows += agreement("GPU settings", alike, _settings, WARN, todo)
    for name, node in nodes.items():
        if gpus_of(node):
            rows += [_bus(name, node), *(check(name, node) for check in _CHECKS)]
    return rows


def cuda_problem(state: CudaState, gpus: int) -> Tuple[str, str]:
    """Return what is wrong with CUDA on a node and what to do about it; empty if it works.

    :param state: ``code``, ``devices`` and ``error`` of ``cuda_state``.
    :param gpus: the number of GPUs that the driver reports.
    """
    code, devices = state["code"], state["devices"]
    if code is None:
        folder = "put the folder of libcuda.so.1 into /etc/ld.so.conf.d and run ldconfig"
        todo = folder if "libcuda" in state["error"] else "see dmesg | grep NVRM, reboot the node"
        return state["error"], todo
    if code:
        found, todo = _CUDA_ERRORS.get(code, ("", "see CUresult in NVIDIA's CUDA driver API"))
        return f"cuInit returned {code} {found}".strip(), todo
    if devices != gpus:
        return f"{devices} of {gpus} GPUs are CUDA devices", "see dmesg | grep NVRM; switch MIG off"
    return "", ""


def _bus(name: str, node: NodeFacts) -> Row:
    """Judge the GPUs that the driver cannot start: nvidia-smi and CUDA may pass over them."""
    check, silent, number = "GPUs on the bus", node.get("gpus_silent"), len(gpus_of(node))
    if silent and node["expected"].get("gpus") != number:
        todo = "see dmesg | grep NVRM and reboot the node; preflight_gpus: {} does without them"
        found = f"no answer from {', '.join(silent)}"
        return verdict(check, name, FAIL, found, todo.format(number))
    return verdict(check, name, PASS, f"{number} answer")


def _remarks(name: str, node: NodeFacts) -> Row:
    words = node.get("gpu_remarks")
    if words:
        todo = "see nvidia-smi -q; a corrupt infoROM alone does not disturb a training"
        return verdict("nvidia-smi", name, WARN, words, todo)
    return verdict("nvidia-smi", name, PASS, "no warning")


def _cuda(name: str, node: NodeFacts) -> Row:
    """Judge the calls that every framework begins with: nvidia-smi succeeds without them."""
    state = node.get("cuda")
    if not state:
        return verdict("CUDA", name, SKIP, "not asked for")
    others = state["devices"] if node.get("gpus_chosen") and state["devices"] else 0
    found, todo = cuda_problem(state, max(len(gpus_of(node)), others))
    if found:
        return verdict("CUDA", name, FAIL, found, todo)
    return verdict("CUDA", name, PASS, f"{state['devices']} devices")


def _state(
    check: str, key: str, fine: Sequence[str], word: str, todo: str
) -> Callable[[str, NodeFacts], Row]:
    """Return a check that a state of each GPU is a fine one, where the GPU and its driver tell."""

    def judge(name: str, node: NodeFacts) -> Row:
        told: List[Mapping[str, Any]] = [
            *(node.get("gpu_health") or []),
            *(node["fingerprint"].get("gpu_settings") or []),
        ]
        states = {gpu["index"]: gpu[key] for gpu in told if gpu.get(key)}
        bad = [f"GPU {index}: {state}" for index, state in states.items() if state not in fine]
        if bad:
            return verdict(check, name, word, ", ".join(bad), todo)
        if not states:
            return verdict(check, name, SKIP, "the GPUs or their driver do not tell")
        return verdict(check, name, PASS, "; ".join(sorted(set(states.values()))))

    return judge


def _presence(nodes: Nodes) -> List[Row]:
    anywhere = any(gpus_of(node) for node in nodes.values())
    rows: List[Row] = []
    asked: Dict[str, NodeFacts] = {}
    for name, node in nodes.items():
        if anywhere or node["expected"].get("gpus"):
            asked[name] = node
        else:
            rows.append(verdict("GPUs", name, SKIP, _NO_GPU))
    todo = "{wanted} should be there: see lspci -d 10de: and dmesg on the node"
    # Which of its GPUs a node may use is its own affair.
    whole = {name: node for name, node in asked.items() if not node.get("gpus_chosen")}
    for alike in by_model(whole):
        rows += agreement("GPUs", alike, lambda node: len(gpus_of(node)), FAIL, todo, "gpus")
    for name in asked.keys() - whole.keys():
        chosen = ", ".join(str(gpu["index"]) for gpu in gpus_of(nodes[name]))
        rows.append(verdict("GPUs", name, PASS, f"{chosen} of scalebench_gpus"))
    for name, node in asked.items():
        model = node["expected"].get("gpu_model")
        others = [gpu["name"] for gpu in gpus_of(node) if model and model not in gpu["name"]]
        if others:
            advice = f"{model} was expected: correct the inventory or the node"
            rows.append(verdict("GPU model", name, FAIL, ", ".join(sorted(set(others))), advice))
        elif model and gpus_of(node):
            rows.append(verdict("GPU model", name, PASS, model_of(node) or ""))
    advice = "cells on {wanted} and others together are unavailable: measure each model apart"
    advice += " (--limit, -e exclude)"
    compared = agreement("GPU model", asked, model_of, WARN, advice)
    return rows + [row for row in compared if not asked[row["node"]]["expected"].get("gpu_model")]


def _driver(node: NodeFacts) -> Optional[str]:
    return ", ".join(sorted({gpu["driver"] for gpu in gpus_of(node)})) or None


def _of_fingerprint(key: str) -> Any:
    return lambda node: node["fingerprint"].get(key)


def _settings(node: NodeFacts) -> Optional[str]:
    """Return the distinct settings of a node's GPUs as one text; None where unknown."""
    settings: List[str] = []
    for gpu in node["fingerprint"].get("gpu_settings") or []:
        known = {key: value for key, value in gpu.items() if key != "index" and value is not None}
        text = ", ".join(f"{key} {value}" for key, value in sorted(known.items()))
        if text not in settings:
            settings.append(text)
    return "; ".join(settings) or None


def _memory_errors(name: str, node: NodeFacts) -> Row:
    gpus = node.get("gpu_health") or []
    bad = [
        f"GPU {gpu['index']}: {gpu['ecc_uncorrected']}" for gpu in gpus if gpu["ecc_uncorrected"]
    ]
    if bad:
        todo = (
            "reset or replace the GPU: uncorrected errors make results wrong (nvidia-smi -q -d ECC)"
        )
        return verdict("GPU memory", name, FAIL, "uncorrected errors, " + ", ".join(bad), todo)
    for key, word, found, todo in _REPAIRS:
        where = ", ".join(f"GPU {gpu['index']}" for gpu in gpus if gpu.get(key))
        if where:
            return verdict("GPU memory", name, word, f"{found}, {where}", todo)
    if all(gpu["ecc_uncorrected"] is None and gpu["repair_pending"] is None for gpu in gpus):
        return verdict("GPU memory", name, SKIP, "the GPUs do not report memory errors")
    return verdict("GPU memory", name, PASS, "no uncorrected error since the driver was loaded")


def _xid(name: str, node: NodeFacts) -> Row:
    codes = node.get("xid")
    if codes is None:
        return verdict("Xid", name, SKIP, "the kernel's log cannot be read")
    if not codes:
        return verdict("Xid", name, PASS, "none since boot")
    shown = ", ".join(str(code) for code in sorted(set(codes)))
    fatal = bool(_FATAL_XID & set(codes))
    todo = "see journalctl -k | grep Xid and NVIDIA's list of Xid errors"
    return verdict("Xid", name, FAIL if fatal else WARN, shown, todo)


def _users(name: str, node: NodeFacts) -> Row:
    users = node.get("gpu_processes") or []
    if not users:
        return verdict("GPU processes", name, PASS, "none")
    todo = (
        "end them or wait: training beside them disturbs both."
        f" preflight_accepted: {{{name}: [GPU processes]}} does it nevertheless"
    )
    return verdict("GPU processes", name, FAIL, ", ".join(users), todo)


_CHECKS: Tuple[Callable[[str, NodeFacts], Row], ...] = (
    _cuda,
    _state(
        *("MIG", "mig", ("Disabled",), FAIL),
        "switch MIG off: repeats train on whole GPUs (nvidia-smi -mig 0, then reset the GPU)",
    ),
    _state(
        *("NVSwitch", "fabric", ("Completed", "Completed, Success", "Not Supported"), FAIL),
        "start nvidia-fabricmanager in the driver's version, and look at its log",
    ),
    _state(
        *("persistence mode", "persistence_mode", ("Enabled",), WARN),
        "switch it on, so that clocks and ECC state persist: role nvidia_driver",
    ),
    *(_memory_errors, _xid, _users, _remarks),
)
