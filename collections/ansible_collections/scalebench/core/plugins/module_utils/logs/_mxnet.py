"""What NVIDIA's MXNet benchmark prints of its settings, and the table at its end."""

from __future__ import annotations

import re

from ._format import number, precision, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping

__all__ = ["TABLES", "settings", "tables"]

TABLES = ("train.total_ips\n", "train.ips\n")
TABLE = (
    r"(?m)"
    r"^train\.(?:total_)?ips[ \t]*\n[ \t]*\|([^\n]{1,500})\n-{3,}[^\n]*\n"
    r"((?:[ \t]*\d{1,6}[ \t]*\|[^\n]{1,500}\n)+)"
)


def settings(given: Mapping[str, str]) -> Dict[str, Any]:
    """Return the identity that the printed arguments make; ``batch_size`` is of all devices."""
    found: Dict[str, Any] = {"framework": "mxnet"}
    if "arch" in given:
        layers = given.get("num_layers", "")
        found["model"] = given["arch"] + (f"-{layers}" if layers.isdigit() else "")
    if "dtype" in given:
        found["precision"] = precision(truth(given.get("amp", "")), given["dtype"])
    if given.get("batch_size", "").isdigit():
        found["global_batch_size"] = int(given["batch_size"])
    devices = re.findall(r"\d{1,6}", given.get("gpus", ""))
    if devices:
        found["world_size"] = found["devices_per_node"] = len(devices)
        if "global_batch_size" in found:
            found["batch_size_per_device"] = found["global_batch_size"] // len(devices)
    if "data_backend" in given:
        backend = given["data_backend"]
        found["data_backend"] = "dali" if backend.startswith("dali") else "native"
        found["data"] = "synthetic" if backend.startswith("syn") else "real"
    size = re.findall(r"\d{1,6}", given.get("image_shape", ""))
    if size:
        found["image_size"] = int(size[-1])
    return found


def tables(text: str, summary: Dict[str, Any]) -> None:
    """Add the throughput table: ``{devices: {batch size per device: images/s, nan is None}}``."""
    for columns, rows in re.findall(TABLE, text):
        sizes = [size.strip() for size in columns.split("|") if size.strip()]
        table: Dict[str, Any] = {}
        for row in rows.splitlines():
            devices, *cells = (cell.strip() for cell in row.rstrip("| \t").split("|"))
            table[devices] = {size: _cell(cell) for size, cell in zip(sizes, cells)}
        summary["table"] = table


def _cell(text: str) -> Any:
    try:
        return number(text)
    except (ValueError, OverflowError):
        return None
