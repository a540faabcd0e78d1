"""The kinds of suspects of a diagnosis, and the names of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Sequence

__all__ = [
    "DEVICE",
    "FABRIC",
    "GROUP",
    "GROUP_SEPARATOR",
    "KINDS",
    "LINK",
    "LINK_SEPARATOR",
    "NETWORK",
    "NODE",
    "OF_A_NODE",
    "OF_GROUPS",
    "OF_TWO_NODES",
    "UPLINK",
    "Kind",
    "pair_name",
]

# What a suspect can be a part of; its subject begins with the name of the node, or names two nodes
# or groups, with LINK_SEPARATOR or GROUP_SEPARATOR between them.
OF_A_NODE, OF_TWO_NODES, OF_GROUPS = "a node", "two nodes", "groups"
LINK_SEPARATOR, GROUP_SEPARATOR = " - ", " and "
NODE, DEVICE, NETWORK, LINK = "node", "device", "network", "link"
# FABRIC is what all groups have in common: the switches above theirs.
UPLINK, GROUP, FABRIC = "uplink", "group", "fabric"


@dataclass(frozen=True)
class Kind:
    """What a suspect of a kind is, what it is a part of, and what to do about it."""

    what: str
    of: str
    action: str


KINDS: Dict[str, Kind] = {
    NODE: Kind(
        "slow node",
        OF_A_NODE,
        "look on it for another process (top, nvidia-smi), a CPU quota (cpu.max of its cgroup) and"
        " throttling (clocks and temperature: turbostat, nvidia-smi -q -d PERFORMANCE)",
    ),
    DEVICE: Kind(
        "slow device",
        OF_A_NODE,
        "read its throttle reasons, ECC errors and PCIe width (nvidia-smi -q), and look for another"
        " process on it",
    ),
    NETWORK: Kind(
        "slow network of a node",
        OF_A_NODE,
        "all of its pairs are slow and it computes as fast as the others: check the cable, the"
        " negotiated rate and the error counters of its port (ethtool, ethtool -S, perfquery), and"
        " traffic of others",
    ),
    LINK: Kind(
        "slow link",
        OF_TWO_NODES,
        "only this pair is slow, and both nodes are not slow with others: check the route and the"
        " switch ports between them (traceroute, counters of the switch)",
    ),
    UPLINK: Kind(
        "slow way out of a group",
        OF_GROUPS,
        "pairs across its border are slow, those inside it are not: check the uplinks of its switch"
        " and their counters",
    ),
    GROUP: Kind(
        "slow group",
        OF_GROUPS,
        "every pair with a node of the group is slow: check the switch that they share",
    ),
    FABRIC: Kind(
        "slow between groups",
        OF_GROUPS,
        "pairs of different groups are slow, whichever these are: compare with the rate that the"
        " fabric above their switches is built for, and check its switches and their routing",
    ),
}


def pair_name(nodes: Sequence[str]) -> str:
    """Return the name of a pair, the same in both directions."""
    return LINK_SEPARATOR.join(sorted(nodes))
