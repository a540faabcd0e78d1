"""Whether messages between the nodes can take the way that the inventory expects."""

from __future__ import annotations

import ipaddress
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ..records.node_facts import NodeFacts, Route
from ..telemetry.nccl import check_expected
from .verdict import FAIL, PASS, SKIP, WARN, Nodes, Row, verdict

__all__ = ["transport_checks"]

_CHECK, _TCP = "transport", "TCP/"
# Network, mask and metric of a route as numbers, and its interface.
_Route = Tuple[int, int, int, str]
# Found and todo of what is wrong.
_Problem = Tuple[str, str]


def transport_checks(nodes: Nodes) -> List[Row]:
    """Return a row for each node: what its messages will take, as far as that is known before.

    An interface must be up and have an address, and messages to the other nodes' addresses on
    theirs must leave by it: of interfaces in one network the kernel may take another. NET/IB needs
    an active port, with a link layer that all nodes have. What ranks took is seen at a repeat.

    :param nodes: by name: beside the fingerprint ``transport`` and ``interface`` of the inventory,
        ``addresses``, ``routes`` and ``gpu_direct`` of module preflight_facts.
    """
    asked: Dict[str, str] = {}
    rows = []
    for name, node in nodes.items():
        try:
            asked[name] = check_expected(str(node.get("transport") or ""), name)
        except ValueError as error:
            rows.append(verdict(_CHECK, name, FAIL, str(error), "correct scalebench_transport"))
    links = {name: _interface(asked[name], nodes[name]) for name in asked}
    for name, wanted in asked.items():
        if wanted.startswith("NET/IB"):
            rows.append(_rdma(name, nodes, wanted))
        else:
            rows.append(_tcp(name, nodes, wanted, links))
    return rows


def _interface(wanted: str, node: NodeFacts) -> str:
    """Return the interface of a node's messages, empty where the inventory names none, or many."""
    if wanted.startswith(_TCP):
        return wanted[len(_TCP) :]
    named = str(node.get("interface") or "").partition(":")[0]
    return "" if "/" in named or "," in named else named


def _tcp(name: str, nodes: Nodes, wanted: str, links: Mapping[str, str]) -> Row:
    node, link = nodes[name], links[name]
    if len(nodes) < 2 or not link or wanted not in ("", "NET/Socket", f"{_TCP}{link}"):
        why = f"{wanted}: only a repeat shows it" if wanted else "the inventory expects none"
        return verdict(_CHECK, name, SKIP, "one node has no other" if len(nodes) < 2 else why)
    way = wanted or f"{_TCP}{link}"
    expected = f"{way} expected{'' if wanted else ' by scalebench_interface'}"
    if node.get("addresses") is None or node.get("routes") is None:
        found = f"{expected}; unknown: the node told no addresses and routes"
        return verdict(_CHECK, name, WARN, found, "run the preflight again")
    problem = _other_link(node, wanted, link) or _not_there(node, wanted, link)
    problem = problem or _other_way(name, nodes, links)
    if problem:
        return verdict(_CHECK, name, FAIL, f"{expected}, {problem[0]}", problem[1])
    if wanted and node["fingerprint"].get("gpus") and _layers(node):
        found = f"{wanted} expected, and an RDMA port is active: NCCL takes NET/IB"
        todo = "set scalebench_transport to NET/IB, or NCCL_IB_DISABLE=1 for the ranks"
        return verdict(_CHECK, name, WARN, found, todo)
    return verdict(_CHECK, name, PASS, f"{way}, {node['addresses'][link]}")


def _other_link(node: NodeFacts, wanted: str, link: str) -> Optional[_Problem]:
    """Return how the interface that libraries are told differs from the expected one."""
    named = str(node.get("interface") or "")
    names = {part.partition(":")[0] for part in named.split(",")}
    if wanted.startswith(_TCP) and named and "/" not in named and link not in names:
        todo = "name the same interface in scalebench_interface and scalebench_transport"
        return f"scalebench_interface is {named}", todo
    return None


def _not_there(node: NodeFacts, wanted: str, link: str) -> Optional[_Problem]:
    up = node["fingerprint"].get("interfaces") or {}
    if link not in up:
        variable = "scalebench_transport" if wanted.startswith(_TCP) else "scalebench_interface"
        todo = f"bring it up, or correct {variable} (up are {', '.join(sorted(up))})"
        return f"{link} is missing or down", todo
    if link not in node["addresses"]:
        known = ", ".join(f"{one} {address}" for one, address in sorted(node["addresses"].items()))
        return f"{link} has no IPv4 address", f"give it one (addresses: {known}): ip address show"
    return None


def _other_way(name: str, nodes: Nodes, links: Mapping[str, str]) -> Optional[_Problem]:
    """Return by which other interface messages to the other nodes' addresses would leave."""
    node, link = nodes[name], links[name]
    routes = [_numbers(route) for route in node["routes"]]
    for other, peer in nodes.items():
        address = (peer.get("addresses") or {}).get(links.get(other, ""))
        if other == name or not address:
            continue
        way = _way(address, node["addresses"], routes)
        if way != link:
            taken = f"{_TCP}{way} is there" if way else "there is no route"
            todo = f"correct the routes and addresses of {link}: ip route get {address}"
            return f"{taken}: to {other} ({address} on {links[other]})", todo
    return None


def _numbers(route: Route) -> _Route:
    network = ipaddress.IPv4Network(route["network"], strict=False)
    first, mask = int(network.network_address), int(network.netmask)
    return first, mask, int(route["metric"]), str(route["interface"])


def _way(address: str, own: Mapping[str, str], routes: Sequence[_Route]) -> str:
    """Return the interface that the kernel takes: longest prefix, lowest metric, first listed."""
    number = int(ipaddress.IPv4Address(address))
    if address in own.values() or number >> 24 == 127:
        return "lo"
    fitting = [route for route in routes if number & route[1] == route[0]]
    return max(fitting, key=lambda route: (route[1], -route[2]))[3] if fitting else ""


def _layers(node: NodeFacts) -> List[str]:
    """Return the link layers of a node's active RDMA ports."""
    return sorted(
        {
            str(port.get("link_layer"))
            for device in (node["fingerprint"].get("infiniband") or {}).values()
            for port in device["ports"].values()
            if "ACTIVE" in str(port.get("state") or "")
        }
    )


def _rdma(name: str, nodes: Nodes, wanted: str) -> Row:
    node = nodes[name]
    if len(nodes) < 2 or not node["fingerprint"].get("gpus"):
        why = "one node has no other" if len(nodes) < 2 else "NCCL, which would take it, needs GPUs"
        return verdict(_CHECK, name, SKIP, why)
    own, every = _layers(node), [layer for one in nodes.values() for layer in _layers(one)]
    usual = max(every, key=every.count, default="")
    if not own:
        found, todo = "no active RDMA port: NCCL would take NET/Socket", "see ibstat, iblinkinfo"
    elif usual not in own:
        found = f"only {', '.join(own)} is active, on the other nodes {usual}"
        todo = "connect all nodes to one fabric: ibstat"
    elif wanted.endswith("/GDRDMA") and not node.get("gpu_direct"):
        found, todo = "nvidia_peermem is not loaded: NCCL would take NET/IB", "see GPUDirect RDMA"
    else:
        return verdict(_CHECK, name, PASS, f"{wanted}, {', '.join(own)}")
    return verdict(_CHECK, name, FAIL, f"{wanted} expected, {found}", todo)
