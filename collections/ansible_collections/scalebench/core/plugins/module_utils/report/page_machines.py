"""The fingerprints of the machines as tables: hardware, then software and settings."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ..layout.rows import machines
from ..layout.sections import table
from .method import machine_rows
from .page_part import Part, filled, part

__all__ = ["machines_part"]

Node = Mapping[str, Any]
# The packages that decide how fast a training is; evidence.md says where all the others are.
_PACKAGES = ("torch", "tensorflow", "mxnet", "oneflow", "paddlepaddle", "numpy")


def machines_part(results: Mapping[str, Any]) -> Optional[Part]:
    """Return the part on the machines, None where nothing is recorded of them."""
    hardware = machine_rows(results)
    if not hardware:
        return None
    nodes: Mapping[str, Node] = results["provenance"]["nodes"]
    software = [
        {"nodes": ", ".join(names), **_software(nodes[names[0]])}
        for names in machines(results).values()
    ]
    return part(
        "machines",
        "Machines",
        ["A row a machine, as it was found when the campaign was planned."],
        [
            table("Hardware and system", hardware, filled(hardware)),
            table("Software and settings", software, filled(software)),
        ],
    )


def _software(node: Node) -> Dict[str, Any]:
    cards = [
        f"{name} (MTU {card.get('mtu') or '-'}, {card.get('speed_mbit') or 'unknown'} Mbit/s)"
        for name, card in (node.get("interfaces") or {}).items()
    ]
    ports = [f"{name} {port}" for name, port in (node.get("infiniband") or {}).items()]
    return {
        "frameworks": _frameworks(node),
        "Python of the node": node.get("python"),
        "CUDA driver": node.get("cuda_driver"),
        "CUDA toolkit": node.get("cuda_toolkit"),
        "NCCL": node.get("nccl"),
        "OFED": node.get("ofed"),
        "governor": node.get("cpu_governor"),
        "congestion control": node.get("tcp_congestion_control"),
        "virtualisation": node.get("virtualisation"),
        "interfaces": ", ".join(cards) or None,
        "InfiniBand": ", ".join(ports) or None,
    }


def _frameworks(node: Node) -> str:
    said = []
    for name, framework in (node.get("frameworks") or {}).items():
        packages = (framework or {}).get("packages") or {}
        known = [f"{one} {packages[one]}" for one in _PACKAGES if one in packages]
        said.append(f"{name}: {', '.join(known) or 'versions unknown'}")
    return "; ".join(said) or "-"
