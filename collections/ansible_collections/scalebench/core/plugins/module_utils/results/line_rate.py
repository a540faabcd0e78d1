"""What the adapters of a node could carry, of the way that a cell's messages took."""

from __future__ import annotations

import re
from typing import Collection, Mapping, Optional

from ..records.plans import Fingerprint

__all__ = ["line_rate"]

_TCP = "TCP/"
# As the driver prints the rate of a port: "100 Gb/sec (4X EDR)".
_PORT_RATE = re.compile(r"([0-9.]+) Gb/sec")


def line_rate(
    nodes: Mapping[str, Fingerprint], names: Collection[str], transports: Collection[str]
) -> Optional[float]:
    """Return the line rate of the slowest node in MB/s (10^6 bytes), one way, without headers.

    Of TCP it is the speed of the one interface that carried the messages, as the kernel has it
    (ethtool's Speed), of InfiniBand and RoCE that of all active ports together, which NCCL uses
    unless the inventory names adapters. None where it is not known: one node, several interfaces,
    a virtual one, or a way that names neither.

    A ring sends each byte of the bus bandwidth once out of each node, so this is its upper bound;
    a tree or in-network reduction sends less.

    :param nodes: fingerprints by name.
    :param names: the nodes of a cell.
    :param transports: what carried its messages, as of a repeat in the results.
    """
    if len(names) < 2:
        return None
    if any(way.startswith("NET/IB") for way in transports):
        rates = [_ports(nodes.get(name) or {}) for name in names]
    else:
        cards = {way[len(_TCP) :] for way in transports if way.startswith(_TCP)}
        if len(cards) != 1:
            return None
        (card,) = cards
        rates = [_interface(nodes.get(name) or {}, card) for name in names]
    known = [rate for rate in rates if rate]
    return min(known) * 1000 / 8 if len(known) == len(names) else None


def _interface(node: Fingerprint, card: str) -> Optional[float]:
    """Return the speed of an interface in Gbit/s."""
    speed = ((node.get("interfaces") or {}).get(card) or {}).get("speed_mbit")
    return speed / 1000 if isinstance(speed, int) and speed > 0 else None


def _ports(node: Fingerprint) -> Optional[float]:
    """Return the rate of all active ports in Gbit/s."""
    ports = [
        port
        for device in (node.get("infiniband") or {}).values()
        for port in device.get("ports", {}).values()
    ]
    rates = [
        _PORT_RATE.match(str(port.get("rate") or ""))
        for port in ports
        if "ACTIVE" in str(port.get("state") or "")
    ]
    known = [float(rate.group(1)) for rate in rates if rate]
    return sum(known) if known and len(known) == len(rates) else None
