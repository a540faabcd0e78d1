"""Checks of the GPUs: number and model, software, settings, health, processes that use them."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from .verdict import FAIL, PASS, SKIP, WARN, Nodes, Row, agreement, verdict

__all__ = ["gpu_checks"]

# Xid errors after which results are wrong or the GPU is lost: double-bit ECC, NVLink, contained and
# uncontained ECC, fallen off the bus (NVIDIA, "XID Errors", r560 and later).
_FATAL_XID = frozenset((48, 62, 64, 74, 79, 94, 95))
_NO_GPU = "the node has no NVIDIA GPU"


def gpu_checks(nodes: Nodes, expected: Mapping[str, Any]) -> List[Row]:
    """Return the rows about GPUs.

    :param expected: optional ``gpus`` (number per node), ``gpu_model`` (a part of the name) and
        ``driver``; an absent one is the value of most nodes.
    """
    rows = _presence(nodes, expected)
    install = "install {wanted} on this node as on the others: playbooks/provision.yml"
    rows += agreement("driver", nodes, _driver, FAIL, install, expected.get("driver"))
    for check, key in (("CUDA of the driver", "cuda_driver"), ("NCCL", "nccl")):
        rows += agreement(check, nodes, _of_fingerprint(key), FAIL, install)
    todo = "set clocks, power limit, ECC and persistence as on the others: nvidia-smi -q"
    rows += agreement("GPU settings", nodes, _settings, WARN, todo)
    for name, node in nodes.items():
        if _gpus(node):
            rows += [_memory_errors(name, node), _xid(name, node), _users(name, node)]
    return rows


def _gpus(node: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    return list(node["fingerprint"].get("gpus") or [])


def _presence(nodes: Nodes, expected: Mapping[str, Any]) -> List[Row]:
    if not any(_gpus(node) for node in nodes.values()) and not expected.get("gpus"):
        return [verdict("GPUs", name, SKIP, _NO_GPU) for name in nodes]
    todo = "{wanted} should be there: see lspci -d 10de: and dmesg on the node"
    rows = agreement("GPUs", nodes, lambda node: len(_gpus(node)), FAIL, todo, expected.get("gpus"))
    asked = expected.get("gpu_model")
    if asked:
        for name, node in nodes.items():
            others = [gpu["name"] for gpu in _gpus(node) if asked not in gpu["name"]]
            if others:
                advice = f"{asked} was expected: correct the inventory or the node"
                rows.append(
                    verdict("GPU model", name, FAIL, ", ".join(sorted(set(others))), advice)
                )
            elif _gpus(node):
                rows.append(verdict("GPU model", name, PASS, _model(node) or ""))
        return rows
    advice = "nodes with {wanted} and others cannot be compared: measure them apart"
    return rows + agreement("GPU model", nodes, _model, FAIL, advice)


def _model(node: Mapping[str, Any]) -> Optional[str]:
    return ", ".join(sorted({gpu["name"] for gpu in _gpus(node)})) or None


def _driver(node: Mapping[str, Any]) -> Optional[str]:
    return ", ".join(sorted({gpu["driver"] for gpu in _gpus(node)})) or None


def _of_fingerprint(key: str) -> Any:
    return lambda node: node["fingerprint"].get(key)


def _settings(node: Mapping[str, Any]) -> Optional[str]:
    """Return the distinct settings of a node's GPUs as one text; None where unknown."""
    settings: List[str] = []
    for gpu in node["fingerprint"].get("gpu_settings") or []:
        known = {key: value for key, value in gpu.items() if key != "index" and value is not None}
        text = ", ".join(f"{key} {value}" for key, value in sorted(known.items()))
        if text not in settings:
            settings.append(text)
    return "; ".join(settings) or None


def _memory_errors(name: str, node: Mapping[str, Any]) -> Row:
    bad = [
        f"GPU {gpu['index']}: {gpu['ecc_uncorrected']}"
        for gpu in node.get("gpu_health") or []
        if gpu.get("ecc_uncorrected")
    ]
    if bad:
        todo = (
            "reset or replace the GPU: uncorrected errors make results wrong (nvidia-smi -q -d ECC)"
        )
        return verdict("GPU memory", name, FAIL, "uncorrected errors, " + ", ".join(bad), todo)
    waiting = [
        f"GPU {gpu['index']}" for gpu in node.get("gpu_health") or [] if gpu.get("repair_pending")
    ]
    if waiting:
        todo = "reset the GPU or reboot the node, so that the faulty memory is retired"
        return verdict("GPU memory", name, WARN, "repair pending, " + ", ".join(waiting), todo)
    return verdict("GPU memory", name, PASS, "no uncorrected error since the driver was loaded")


def _xid(name: str, node: Mapping[str, Any]) -> Row:
    codes = node.get("xid")
    if codes is None:
        return verdict("Xid", name, SKIP, "the kernel's log cannot be read")
    if not codes:
        return verdict("Xid", name, PASS, "none since boot")
    shown = ", ".join(str(code) for code in sorted(set(codes)))
    fatal = bool(_FATAL_XID & set(codes))
    todo = "see journalctl -k | grep Xid and NVIDIA's list of Xid errors"
    return verdict("Xid", name, FAIL if fatal else WARN, shown, todo)


def _users(name: str, node: Mapping[str, Any]) -> Row:
    users = node.get("gpu_processes") or []
    if not users:
        return verdict("GPU processes", name, PASS, "none")
    todo = "end them or wait: they take time and memory from the measurement"
    return verdict("GPU processes", name, WARN, ", ".join(users), todo)
