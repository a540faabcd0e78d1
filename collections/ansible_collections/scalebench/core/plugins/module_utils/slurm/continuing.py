"""The nodes of a campaign that is continued: its own, and others for those that are gone."""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, Sequence

from .answers import SlurmNode

__all__ = ["names_of_hosts", "usable"]

# Parts of a node's state in which Slurm gives it to no job: sinfo(1), NODE STATE CODES.
_GONE = {
    *("DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING"),
    *("INVAL", "INVALID_REG", "NOT_RESPONDING", "NO_RESPOND", "UNKNOWN", "FUTURE", "REBOOT_ISSUED"),
}


def usable(nodes: Sequence[SlurmNode], excluded: Sequence[str] = ()) -> List[str]:
    """Return the names of the nodes that a job may get.

    :param nodes: as Slurm describes them; a state is as ``IDLE+DRAIN``, or ``IDLE*`` of one that
        does not respond.
    :param excluded: names that the user wants left out.
    """
    return [
        node.name
        for node in nodes
        if node.name not in excluded
        and "*" not in node.state
        and not {*re.findall(r"[A-Z_]+", node.state)} & _GONE
    ]


def names_of_hosts(planned: Mapping[str, str], hosts: Sequence[str]) -> Dict[str, str]:
    """Return the names that hosts have in a campaign, by host, in the order of the hosts.

    A host that was planned has its name. The others stand in for the planned nodes that are
    missing, in their order; those beyond them have their own names.

    :param planned: the hosts that were planned, by their names in the campaign.
    """
    names = {host: name for name, host in planned.items()}
    missing = iter([name for name, host in planned.items() if host not in hosts])
    return {host: names[host] if host in names else next(missing, host) for host in hosts}
