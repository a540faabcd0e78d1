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


def settings(given: Mapping[str, str], head: str) -> Dict[str, Any]:
    """Return the identity that the printed arguments make; ``batch_size`` is of all devices.

    With Horovod ``gpus`` lists those of one node, or its default: the launcher's tags must bear it
    out.
    """
    found: Dict[str, Any] = {"framework": "mxnet"}
    if "arch" in given:
        layers = given.get("num_layers", "")
        found["model"] = given["arch"] + (f"-{layers}" if layers.isdigit() else "")
    if "dtype" in given:
        found["precision"] = precision(truth(given.get("amp", "")), given["dtype"])
    if given.get("batch_size", "").isdigit():
        found["global_batch_size"] = int(given["batch_size"])
    devices = len(re.findall(r"\d{1,6}", given.get("gpus", "")))
    ranks = 1 + max(map(int, re.findall(r"\[\d{1,9},(\d{1,9})\]<std", head)), default=-1)
    if devices and (ranks or given.get("kv_store") != "horovod"):
        found["world_size"] = max(devices, ranks)
        if "global_batch_size" in found:
            found["batch_size_per_device"] = found["global_batch_size"] // found["world_size"]
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
