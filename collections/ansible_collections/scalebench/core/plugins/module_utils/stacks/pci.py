"""GPUs, NVSwitches and HCAs among the PCI devices of a node, by their identifiers."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

__all__ = ["ARCHITECTURES", "BEFORE_AMPERE", "hardware"]

_NVIDIA = 0x10DE
_MELLANOX = 0x15B3
# Classes VGA controller and 3D controller; the GPUs of servers are 3D controllers.
_DISPLAY = (0x0300, 0x0302)
# First and last device id of each chip family, from the PCI ID Repository (pci.ids).
_FAMILIES: Tuple[Tuple[int, int, str], ...] = (
    (0x0FC0, 0x12BF, "kepler"),
    (0x1340, 0x15EF, "maxwell"),
    (0x1600, 0x17FF, "maxwell"),
    (0x15F0, 0x15FF, "pascal"),
    (0x1B00, 0x1D7F, "pascal"),
    (0x1D80, 0x1DFF, "volta"),
    (0x1E00, 0x1FFF, "turing"),
    (0x2080, 0x20FF, "ampere"),
    (0x2180, 0x21FF, "turing"),
    (0x2200, 0x22FF, "ampere"),
    (0x2300, 0x237F, "hopper"),
    (0x2480, 0x25FF, "ampere"),
    (0x2680, 0x28FF, "ada"),
    (0x2900, 0x31FF, "blackwell"),
)
ARCHITECTURES = tuple(dict.fromkeys(name for _, _, name in _FAMILIES))
# GPUs whose tensor cores know neither TF32 nor bf16: CUDA C++ Programming Guide, table of the
# features by compute capability.
BEFORE_AMPERE = frozenset(ARCHITECTURES[: ARCHITECTURES.index("ampere")])
_NVSWITCHES = {0x1AC2: "NVSwitch", 0x1AF1: "NVSwitch 2", 0x22A3: "NVSwitch 3"}
_HCAS = {
    0x1003: "ConnectX-3",
    0x1007: "ConnectX-3 Pro",
    0x1011: "Connect-IB",
    0x1013: "ConnectX-4",
    0x1015: "ConnectX-4 Lx",
    0x1017: "ConnectX-5",
    0x1019: "ConnectX-5 Ex",
    0x101B: "ConnectX-6",
    0x101D: "ConnectX-6 Dx",
    0x101F: "ConnectX-6 Lx",
    0x1021: "ConnectX-7",
    0x1023: "ConnectX-8",
    0xA2D6: "BlueField-2",
    0xA2DC: "BlueField-3",
}


def hardware(devices: Iterable[Mapping[str, Any]]) -> Dict[str, List[Dict[str, Any]]]:
    """Return ``gpus``, ``nvswitches`` and ``hcas`` among PCI devices.

    :param devices: as module pci_devices_info returns them.
    :returns: ``slot`` and ``model`` of each, and the ``architecture`` of a GPU, null for a chip
        newer than this table. Virtual functions of an HCA are left out.
    :raises ValueError: an identifier is not hexadecimal.
    """
    parts: Dict[str, List[Dict[str, Any]]] = {"gpus": [], "nvswitches": [], "hcas": []}
    for device in devices:
        vendor, identifier = int(device["vendor"], 16), int(device["device"], 16)
        kind = int(device["device_class"], 16) >> 8
        entry: Dict[str, Any] = {"slot": device["slot"], "model": f"{identifier:04x}"}
        if vendor == _NVIDIA and kind in _DISPLAY:
            parts["gpus"].append({**entry, "architecture": _architecture(identifier)})
        elif vendor == _NVIDIA and identifier in _NVSWITCHES:
            parts["nvswitches"].append({**entry, "model": _NVSWITCHES[identifier]})
        elif vendor == _MELLANOX and identifier in _HCAS:
            parts["hcas"].append({**entry, "model": _HCAS[identifier]})
    return parts


def _architecture(identifier: int) -> Optional[str]:
    for first, last, name in _FAMILIES:
        if first <= identifier <= last:
            return name
    return None
