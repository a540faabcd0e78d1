"""The transports that NCCL's ranks connected, from the lines of NCCL_DEBUG=INFO.

Forms of the lines: the INFO calls of net, p2p, shm, coll_net and nvls below src/transport in
NVIDIA/nccl, versions 2.3.7 to 2.30.7.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, Mapping, Sequence

__all__ = ["check_expected", "transports", "unexpected", "with_trace"]

_CONNECTED = re.compile(r"NCCL INFO (?:Ring|Channel|Coll|CollNet) \d+(?:/\d+)? : .* via (.+)")
_NVLS = re.compile(r"NCCL INFO NVLS comm ")
_EXPECTED = re.compile(r"NET/[^/]+(/GDRDMA)?|TCP/[^/\s,]{1,15}")
# InfiniBand by NVIDIA's plugin, of HPC-X and its images: by the version of its interface IBext,
# or IBext_v5 to IBext_v11 (src/ib_plugin.c in Mellanox/nccl-rdma-sharp-plugins).
_PLUGIN = re.compile(r"^NET/IBext(_v\d+)?(?=/|$)")


def with_trace(environment: Mapping[str, str], folder: str) -> Dict[str, str]:
    """Return the environment with a file for NCCL's lines, if they are asked for without one.

    On standard output they would be part of the training's log.
    """
    made = dict(environment)
    if "NCCL_DEBUG" in made:
        # %h and %p are host and process (NCCL_DEBUG_FILE in NCCL's documentation).
        place = folder.replace("%", "%%") + "/nccl.%h.%p.log"
        made.setdefault("NCCL_DEBUG_FILE", place)
    return made


def transports(lines: Iterable[str]) -> List[str]:
    """Return what connects the ranks, sorted, as NET/IB/GDRDMA, NET/Socket, NVLS, P2P/IPC, SHM.

    :param lines: of any number of ranks; lines of other programs may be among them.
    """
    found = set()
    for line in lines:
        connected = _CONNECTED.search(line)
        if connected:
            found.add(_name(connected.group(1).strip()))
        elif _NVLS.search(line):
            found.add("NVLS")
    return sorted(found)


def _name(way: str) -> str:
    """Return the transport without device, mode and flags; NET has ``/GDRDMA`` where it is used."""
    parts = way.split("/")
    if parts[0] in ("SHM", "direct shared memory"):
        return "SHM"
    # 2.28 adds the mode: GDRDMA(PCI).
    direct = any(part.startswith("GDRDMA") for part in parts)
    return "/".join([*parts[:2], "GDRDMA"] if direct else parts[:2])


def check_expected(expected: str, where: str) -> str:
    """Return the transport that the inventory expects between nodes, empty for none.

    ``TCP/eth0`` is what ranks without NCCL take, by the interface.

    :raises ValueError: ``where``, and what can stand there.
    """
    if expected in ("", "any"):
        return ""
    if not _EXPECTED.fullmatch(expected):
        raise ValueError(
            f"{where}: scalebench_transport is {expected!r}: write NET/IB, NET/IB/GDRDMA,"
            " NET/Socket, TCP/ and an interface (TCP/eth0), or any"
        )
    return expected


def unexpected(expected: str, taken: Sequence[str]) -> str:
    """Return how the network transports of a node differ from the expected one, else nothing.

    Some directions do without GPUDirect RDMA on some GPUs, so one connection with it is enough.
    What is no NET is judged by nobody: NVLink and SHARP between nodes are faster than any network.

    Of TCP the expected interface must be among those that carried a tenth of the traffic at least:
    others may have carried a data set.

    :param taken: of :func:`transports`, or interfaces as ``TCP/eth0``.
    """
    if expected.startswith("TCP/"):
        if not taken or expected in taken:
            return ""
        return (
            f"{', '.join(taken)} carried the traffic by the kernel's counters, expected was"
            f" {expected}"
        )
    network = [name for name in taken if name.startswith("NET/")]
    wanted, *ways = (_PLUGIN.sub("NET/IB", name) for name in (expected, *network))
    kind = "/".join(wanted.split("/")[:2])
    fits = {*ways} <= {kind, f"{kind}/GDRDMA"} and (wanted == kind or wanted in ways)
    if not network or fits:
        return ""
    return f"NCCL took {', '.join(network)} between the nodes, expected was {expected}"
