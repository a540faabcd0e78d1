"""Checks of hosts, ssh among the nodes, InfiniBand, containers and the data set."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Dict, List, Optional, Sequence, Tuple

from ..records.node_facts import NodeFacts
from ..records.node_names import by_words
from .verdict import FAIL, PASS, SKIP, WARN, Nodes, Row, agreement, by_model, verdict

__all__ = ["data_checks", "fabric_checks", "host_checks"]

# Seconds between the clocks of node and controller. Telemetry is sampled every 2 s.
_SKEW_WARN, _SKEW_FAIL = 0.5, 5.0
# Digits of a digest that are shown, as many as git shows.
_SHOWN = 12


def host_checks(nodes: Nodes) -> List[Row]:
    """Return the rows about hosts.

    :param nodes: with optional ``free_mib``, the free disk space that the node needs, in MiB, and
        ``bfloat16``, whether frameworks are to compute in bf16 on its CPUs, in ``expected``.
    """
    todo = "measure nodes with {wanted} apart from others, or make them the same"
    rows = agreement("system", nodes, lambda node: node["fingerprint"].get("os"), WARN, todo)
    rows += agreement("kernel", nodes, lambda node: node["fingerprint"].get("kernel"), WARN, todo)
    # Each node logs in to one other only: see node/ssh.py.
    todo = "run playbooks/provision.yml on all nodes, {wanted} have the same keys"
    rows += agreement(
        "authorised keys",
        nodes,
        lambda node: (node.get("authorized_keys") or "")[:_SHOWN] or None,
        FAIL,
        todo,
    )
    for name, node in nodes.items():
        rows += [_memlock(name, node), _room(name, node), _clock(name, node)]
        rows += [_reaches(name, node), _interfaces(name, node)]
        rows += [_bfloat16(name, node)] if node["expected"].get("bfloat16") else []
    return rows


def _bfloat16(name: str, node: NodeFacts) -> Row:
    """Judge whether training in bf16 on the CPU is computed or emulated."""
    there = node["fingerprint"].get("cpu_bfloat16")
    if there is None:
        return verdict("bf16 on the CPU", name, SKIP, "not known for this CPU")
    if there:
        return verdict("bf16 on the CPU", name, PASS, "it has instructions for it")
    todo = (
        "measure with precision=fp32: bf16 is emulated here, by PyTorch at half the throughput of"
        " fp32, or a hundredth without AVX-512, where MXNet does not run; or leave the node out"
        " (-e exclude=NAME)"
    )
    return verdict("bf16 on the CPU", name, WARN, "no instructions for it", todo)


def _interfaces(name: str, node: NodeFacts) -> Row:
    """Judge the interfaces that the inventory sets for the ranks: without one NCCL cannot start."""
    asked = str(node.get("interface") or "")
    if not asked or "/" in asked:
        return verdict("interface", name, SKIP, f"the inventory names {asked or 'none'}")
    there = node["fingerprint"].get("interfaces") or {}
    names = [text.partition(":")[0] for text in asked.split(",")]
    missing = [text for text in names if text not in there]
    if missing:
        todo = (
            "correct scalebench_interface, names without = or ^"
            f" (up are {', '.join(sorted(there))}), or see ip link"
        )
        return verdict("interface", name, FAIL, f"{', '.join(missing)} missing or down", todo)
    return verdict("interface", name, PASS, ", ".join(names))


def _memlock(name: str, node: NodeFacts) -> Row:
    """Judge the limit of locked memory in a session: RDMA locks all its buffers."""
    limit = node["memlock_kib"]
    if limit == -1:
        return verdict("memlock", name, PASS, "unlimited")
    found = f"{limit} KiB"
    if not node["fingerprint"].get("infiniband"):
        return verdict("memlock", name, SKIP, f"{found}; the node has no RDMA device")
    todo = "raise it to unlimited, with role host_baseline, and log in again"
    return verdict("memlock", name, FAIL, found, todo)


def _room(name: str, node: NodeFacts) -> Row:
    free, needed = node["fingerprint"]["disk_free_mib"], node["expected"].get("free_mib", 0)
    if not node.get("writable", True):
        todo = "let the account of the runs write there; a disk with errors is read-only"
        return verdict("disk", name, FAIL, "scalebench_work_dir cannot be written", todo)
    if free < needed:
        todo = f"free {needed} MiB on the disk of scalebench_work_dir"
        return verdict("disk", name, FAIL, f"{free} MiB free", todo)
    return verdict("disk", name, PASS, f"{free} MiB free")


def _clock(name: str, node: NodeFacts) -> Row:
    """Judge the smallest clock difference that the round trip of the request allows."""
    low, high = node["clock_skew"]
    least = max(low, -high, 0.0)
    found = f"{least:.2f} s off at least" if least > _SKEW_WARN else "as the controller's"
    if least <= _SKEW_WARN:
        return verdict("clock", name, PASS, found)
    word = FAIL if least > _SKEW_FAIL else WARN
    return verdict("clock", name, word, found, "synchronise it with chrony: role host_baseline")


def _reaches(name: str, node: NodeFacts) -> Row:
    peers = node.get("peers")
    if peers is None:
        return verdict("ssh to all nodes", name, SKIP, "not asked for")
    lost = {peer: why for peer, why in peers.items() if why}
    if not lost:
        return verdict("ssh to all nodes", name, PASS, f"{len(peers)} of {len(peers)}")
    found = "; ".join(by_words(sorted(lost.items())))
    return verdict("ssh to all nodes", name, FAIL, found, "run playbooks/provision.yml again")


def fabric_checks(nodes: Nodes) -> List[Row]:
    """Return the rows about InfiniBand and containers.

    :param nodes: with optional ``infiniband_devices``, the adapters that the ranks use, as patterns
        such as ``mlx5_[0-3]`` or ``mlx5_0:1`` (one port), and ``infiniband_ports``, the number of
        their active ports, in ``expected``. Without either all count, and one that is down is a
        warning. Numbers of ports are compared among nodes with the same patterns.
    """
    install = "install {wanted} on this node as on the others: role mlnx_ofed"
    again = "provision again, so that all nodes have {wanted}"
    rows: List[Row] = []
    # Nodes with other GPUs may have another stack.
    for alike in by_model(nodes):
        rows += agreement(
            "OFED", alike, lambda node: node["fingerprint"].get("ofed"), FAIL, install
        )
        rows += agreement("image", alike, lambda node: node.get("image"), FAIL, again)
    by_patterns: Dict[Tuple[str, ...], Dict[str, NodeFacts]] = {}
    for name, node in nodes.items():
        rows += [_ports(name, node), _gpu_direct(name, node), _in_container(name, node)]
        by_patterns.setdefault(_patterns(node), {})[name] = node
    check, key = "active InfiniBand ports", "infiniband_ports"
    todo = "see cable, switch and subnet manager: ibstat, iblinkinfo"
    for patterns, alike in by_patterns.items():
        rows += agreement(check, alike, _active, FAIL if patterns else WARN, todo, key)
    return rows


def _patterns(node: NodeFacts) -> Tuple[str, ...]:
    """Return the patterns of the adapters that a node's ranks use; none for all."""
    given = node["expected"].get("infiniband_devices") or ()
    return tuple(given.replace(" ", "").split(",") if isinstance(given, str) else given)


def _active(node: NodeFacts) -> Optional[int]:
    patterns = _patterns(node)
    ports = {name: state for name, state in _states(node).items() if _used(name, patterns)}
    return len([state for state in ports.values() if "ACTIVE" in state]) if ports else None


def _states(node: NodeFacts) -> Dict[str, str]:
    """Return the state of each port by its name, such as ``mlx5_0/1``."""
    return {
        f"{device}/{number}": port["state"] or "unknown"
        for device, facts in sorted((node["fingerprint"].get("infiniband") or {}).items())
        for number, port in sorted(facts["ports"].items())
    }


def _used(port: str, patterns: Sequence[str]) -> bool:
    device, _, number = port.partition("/")
    names = (device, f"{device}:{number}")
    return not patterns or any(fnmatchcase(name, text) for name in names for text in patterns)


def _ports(name: str, node: NodeFacts) -> Row:
    """Judge the ports: NCCL does without those that are down, without a message."""
    states, patterns = _states(node), _patterns(node)
    absent = [text for text in patterns if not any(_used(port, [text]) for port in states)]
    if absent:
        todo = "correct preflight_infiniband_devices, or see lspci -d 15b3: and role mlnx_ofed"
        return verdict("InfiniBand", name, FAIL, f"no adapter {', '.join(absent)}", todo)
    if not states:
        return verdict("InfiniBand", name, SKIP, "the node has no RDMA device")
    down = {port: state for port, state in states.items() if "ACTIVE" not in state}
    if down:
        # A spare port or one for management is often down: only the inventory can tell.
        broken = bool(patterns) and any(_used(port, patterns) for port in down)
        todo = "see cable, switch and subnet manager: ibstat, iblinkinfo"
        if not broken:
            todo += "; or name the adapters of the ranks in preflight_infiniband_devices"
        found = ", ".join(f"{port} {state}" for port, state in down.items())
        return verdict("InfiniBand", name, FAIL if broken else WARN, found, todo)
    devices = node["fingerprint"]["infiniband"]
    rates = {port["rate"] for facts in devices.values() for port in facts["ports"].values()}
    return verdict("InfiniBand", name, PASS, ", ".join(sorted(str(rate) for rate in rates)))


def _gpu_direct(name: str, node: NodeFacts) -> Row:
    """Judge what lets adapters read GPU memory: without it NCCL copies through the host's."""
    check, means = "GPUDirect RDMA", node.get("gpu_direct")
    if not node["fingerprint"].get("gpus") or not node["fingerprint"].get("infiniband"):
        return verdict(check, name, SKIP, "the node has no GPU or no RDMA device")
    if not means:
        todo = "load nvidia_peermem: playbooks/provision.yml --tags mlnx_ofed,nvidia_driver"
        driver = node["fingerprint"]["gpus"][0]["driver"]
        number = re.match(r"\d{1,9}", driver)
        if number and int(number.group()) < 470:
            todo = f"driver {driver} has no nvidia_peermem: branch 470 is the first with it"
        elif not node["fingerprint"].get("ofed"):
            todo = (
                "if provision.yml cannot load nvidia_peermem, the kernel has no peer memory"
                " interface: use a stack with the vendor's OFED, or (from Turing on) open kernel"
                " modules on kernel 5.12 or later"
            )
        return verdict(check, name, WARN, "nvidia_peermem is not loaded", todo)
    return verdict(check, name, PASS, means)


def _in_container(name: str, node: NodeFacts) -> Row:
    """Judge the devices visible in the container: without them NCCL silently uses sockets."""
    check, inside = "InfiniBand in the container", node.get("container_infiniband")
    outside = sorted(node["fingerprint"].get("infiniband") or {})
    if inside is None:
        return verdict(check, name, SKIP, "no container is used")
    missing = [device for device in outside if device not in inside]
    if missing:
        todo = "start it with --device /dev/infiniband and --cap-add IPC_LOCK: role framework"
        return verdict(check, name, FAIL, f"{', '.join(missing)} not visible", todo)
    if not outside:
        return verdict(check, name, SKIP, "the node has no RDMA device")
    if not node.get("container_verbs", True):
        todo = "use an image with libibverbs1 and ibverbs-providers; without them NCCL uses sockets"
        return verdict(check, name, FAIL, "no libibverbs.so.1 in the image", todo)
    return verdict(check, name, PASS, ", ".join(outside))


def data_checks(nodes: Nodes) -> List[Row]:
    """Return the rows about the data set, of nodes with a ``dataset`` of module dataset_info.

    An incomplete data set is a warning, because a part of it may be intended; a difference
    between nodes is a failure.
    """
    again = "copy it again, so that all nodes have {wanted}: docs/data.md"
    rows = agreement("dataset", nodes, _digests, FAIL, again)
    for name, node in nodes.items():
        problems = [
            f"{form}: {problem}"
            for form, state in (node.get("dataset") or {}).items()
            for problem in state["problems"]
        ]
        if problems:
            todo = "copy what is missing, or continue if a part is intended: docs/data.md"
            rows.append(verdict("dataset files", name, WARN, "; ".join(problems), todo))
    return rows


def _digests(node: NodeFacts) -> Optional[str]:
    digests = [
        f"{form} {state['digest'][:_SHOWN]}"
        for form, state in (node.get("dataset") or {}).items()
        if state["digest"]
    ]
    return ", ".join(digests) or None
