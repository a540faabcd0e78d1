"""Read the node's PCI devices from sysfs: they are there before any driver is."""

from __future__ import annotations

import os
from typing import Dict, List, Optional

__all__ = ["pci_devices"]


def pci_devices(vendor: str = "", sysfs: str = "/sys") -> List[Dict[str, Optional[str]]]:
    """Return the PCI devices in the order of the bus; none where the node has no PCI bus.

    Files and their form: Documentation/ABI/testing/sysfs-bus-pci of the Linux kernel.

    :param vendor: four hexadecimal digits, ``10de`` for NVIDIA, ``15b3`` for Mellanox; empty for
        all.
    :param sysfs: where sysfs is mounted.
    :returns: for each ``slot``, ``vendor`` and ``device`` (four digits each), ``device_class`` (six
        digits: class, subclass, programming interface) and ``driver`` (its name, None without one).
    """
    folder = os.path.join(sysfs, "bus/pci/devices")
    try:
        slots = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    found = [_device(os.path.join(folder, slot), slot) for slot in slots]
    return [device for device in found if not vendor or device["vendor"] == vendor.lower()]


def _device(path: str, slot: str) -> Dict[str, Optional[str]]:
    try:
        driver: Optional[str] = os.path.basename(os.readlink(os.path.join(path, "driver")))
    except OSError:
        driver = None
    return {
        "slot": slot,
        "vendor": _digits(path, "vendor"),
        "device": _digits(path, "device"),
        "device_class": _digits(path, "class"),
        "driver": driver,
    }


def _digits(path: str, name: str) -> str:
    """Return a hexadecimal number without its 0x."""
    with open(os.path.join(path, name), encoding="ascii") as file:
        return file.read().strip()[2:].lower()
