"""Group the paths of a tree of logs into the logs of cells, one for each repeat."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Tuple

from ..records.cells import cell_key
from .lognames import Log, parse_log_path

__all__ = ["group_logs"]

_OURS = re.compile(
    r"plan\.json|results\.(json|csv)|.+_result\.json|report\.(md|html)|junit\.xml|scalebench\.prom"
    r"|(throughput|speedup|efficiency)\.(svg|png)",
    re.ASCII,
)
_ENDINGS = (".log", ".txt", ".out", "_log")


def _slot(log: Log) -> Tuple[Any, ...]:
    """Return the key of a repeat, which sorts in the order of a report."""
    key, batch = cell_key(log), log["batch_size_per_device"]
    group = (key.benchmark, key.precision != "fp32", key.precision, batch, key.variant, key.model)
    return (*group, log["nodes"], log["devices_per_node"], log["repeat"])


def _stem(path: str) -> str:
    """Return a log's path without its ending, which the files beside it share."""
    ending = next((end for end in _ENDINGS if path.endswith(end)), "")
    return path[: len(path) - len(ending)]


def _numbered(log: Log) -> bool:
    """Whether the name states its repeat, so that it goes before a name that does not."""
    return _stem(log["path"]).endswith(f"_{log['repeat']}")


def _is_companion(path: str, stems: Any) -> bool:
    folder, _, filename = path.rpartition("/")
    stem = filename.split(".")[0]
    return bool(_OURS.fullmatch(filename)) or (f"{folder}/{stem}" if folder else stem) in stems


def group_logs(paths: Iterable[str], root: str = "") -> Dict[str, List[Any]]:
    """Return logs (see ``parse_log_path``), companions and unmatched of a tree.

    ``logs`` are ordered by group, topology and repeat. ``companions`` are paths that belong to a
    log or a report by their name (``<log>.run.json``, ``<log>.node2.txt``, ``results.json``).
    ``unmatched`` are all other paths, each with the reason: {path, reason}.
    """
    named: List[Log] = []
    others: List[Dict[str, str]] = []
    for path in sorted(paths):
        try:
            named += parse_log_path(path, root)
        except ValueError as error:
            others.append({"path": path, "reason": str(error)})
    slots: Dict[Tuple[Any, ...], Log] = {}
    unmatched: List[Dict[str, str]] = []
    for log in sorted(named, key=lambda log: (not _numbered(log), log["path"])):
        first = slots.setdefault(_slot(log), log)
        if first is not log:
            reason = f"it is the same repeat as {first['path']}"
            unmatched.append({"path": log["path"], "reason": reason})
    logs = [slots[slot] for slot in sorted(slots)]
    stems = {_stem(log["path"]) for log in logs}
    companions = [item["path"] for item in others if _is_companion(item["path"], stems)]
    unmatched += [item for item in others if not _is_companion(item["path"], stems)]
    unmatched.sort(key=lambda item: item["path"])
    return {"logs": logs, "companions": companions, "unmatched": unmatched}
