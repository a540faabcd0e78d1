"""Read the path of a log: benchmark, variant, topology, precision, batch size, repeat.

Three naming schemes. That of the reference efforts: ``<benchmark>/bz<batch>[-<variant>]/<N>n<G>g/``
and then ``<model>_b<batch>_<precision>_<i>.log``, in an older layout without the ``bz`` folder. Two
of PaddlePaddle's Perf: ``<model>_bs<batch>_<precision>_<mode>_N<nodes>C<cards>_log``, whose cards
are those of all nodes (its own scripts explain N4C32 as 4 nodes and 32 cards), and the older
``<model>_gpu<cards>_<precision>_bs<batch>.txt``, from nodes of 8 cards; with ``_gpu1_gpu8`` the
file holds two runs, one after the other.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Match, Optional, Tuple

from ansible_collections.scalebench.core.plugins.module_utils.records.factors import (
    FACTORS,
    FORMER,
    Factor,
    parse_flag,
)
from ansible_collections.scalebench.core.plugins.module_utils.topology import (
    format_topology,
    parse_topology,
)

__all__ = ["Log", "parse_log_path"]

Log = Dict[str, Any]

_TOPOLOGY = re.compile(r"0*([1-9]\d*)n0*([1-9]\d*)g", re.ASCII | re.IGNORECASE)
# Without "strong" beside it, gb200 is the name of a GPU.
_VARIANT = re.compile(r"(?P<size>bz|gb(?=\d+[-_.]strong\b))(\d+)((?:[-_.]\w+)*)", re.ASCII)
_PRECISION = r"(?P<precision>(?:pure_)?[A-Za-z][A-Za-z0-9]*)"
_REFERENCE = re.compile(
    rf"(?P<model>.+?)_b(?P<batch>\d+)_{_PRECISION}(?P<extra>(?:_[A-Za-z]\w*?)?)"
    r"(?:_(?P<repeat>\d+))?(?:\.(?:log|txt|out))?",
    re.ASCII,
)
_PERF = re.compile(
    rf"(?P<model>.+?)_bs(?P<batch>\d+)_{_PRECISION}(?:_(?:SingleP|MultiP))?"
    r"(?:_(?P<mode>[A-Za-z0-9-]+))?_N(?P<nodes>\d+)C(?P<cards>\d+)(?:_(?P<repeat>\d+))?"
    r"(?:_log|\.log|\.txt)+",
    re.ASCII,
)
_PERF_OLD = re.compile(
    rf"(?P<model>.+?)(?P<runs>(?:_gpu\d+)+)_{_PRECISION}_bs(?P<batch>\d+)"
    r"(?:_(?P<repeat>\d+))?\.(?:txt|log)",
    re.ASCII,
)
_PERF_NODE_CARDS = 8


def _context(root: str) -> Tuple[str, List[str]]:
    """Split the folder of the tree: the name before its bz and topology parts, and these parts."""
    parts = [part for part in root.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    own: List[str] = []
    while parts and (_TOPOLOGY.fullmatch(parts[-1]) or _VARIANT.fullmatch(parts[-1])):
        own.insert(0, parts.pop())
    return (parts[-1] if parts else "logs"), own


def _last(pattern: re.Pattern[str], parts: List[str]) -> Optional[Match[str]]:
    matches = [match for match in map(pattern.fullmatch, parts) if match]
    return matches[-1] if matches else None


def _log(path: str, name: Match[str], benchmark: str, variant: str, nodes: int, each: int) -> Log:
    """Return the log with all its keys; ``each``: devices per node."""
    parts = variant.split("-")
    # Its figures could not be ordered: only this log is left out.
    parse_topology(format_topology(nodes, each))
    return {
        **{factor.name: _value(factor, parts) for factor in (*FACTORS, *FORMER)},
        "path": path,
        "benchmark": benchmark,
        "model": name.group("model"),
        "precision": name.group("precision").lower(),
        "batch_size_per_device": int(name.group("batch")),
        "variant": variant,
        "topology": format_topology(nodes, each),
        "nodes": nodes,
        "devices_per_node": each,
        "repeat": int(name.group("repeat") or 1),
        "run": None,
    }


def _value(factor: Factor, parts: List[str]) -> Any:
    """Return what the parts of a variant state of a factor, None where they do not."""
    matches = [match for match in (re.fullmatch(factor.pattern, part) for part in parts) if match]
    if factor.parse is parse_flag:
        return bool(matches)
    return factor.parse(matches[0].group(1)) if matches else None


def _reference(path: str, name: Match[str], folders: List[str], root: str) -> Log:
    label, own = _context(root)
    place, level = _last(_TOPOLOGY, own + folders), _last(_VARIANT, own + folders)
    if place is None:
        raise ValueError("no folder above it is a topology: <nodes>n<devices per node>g, as 4n8g")
    batch = int(name.group("batch"))
    devices = int(place.group(1)) * int(place.group(2))
    sizes = {"bz": batch, "gb": batch * devices}
    if level is not None and int(level.group(2)) != sizes[level.group("size")]:
        raise ValueError(
            f"the folder {level.group()} and the name {name.group()} differ in the batch size"
        )
    extra = [word for word in name.group("extra").split("_") if word]
    variant = re.sub(r"[_.]", "-", level.group()) if level else f"bz{batch}"
    variant = "-".join([variant, *(word for word in extra if word not in variant.split("-"))])
    taken = (place.group(), level.group() if level else "")
    benchmark = "/".join(part for part in folders if part not in taken) or label
    return _log(path, name, benchmark, variant, int(place.group(1)), int(place.group(2)))


def _perf(path: str, name: Match[str], benchmark: str) -> List[Log]:
    groups = name.groupdict()
    mode = groups.get("mode") or "DP"
    variant = f"bz{int(groups['batch'])}" + ("" if mode == "DP" else f"-{mode}")
    runs = [int(groups["cards"])] if "cards" in groups else _counts(groups["runs"])
    logs = []
    for run, cards in enumerate(runs, 1):
        nodes = int(groups["nodes"]) if "nodes" in groups else -(-cards // _PERF_NODE_CARDS)
        if nodes < 1 or cards < 1 or cards % nodes:
            raise ValueError(f"{cards} cards in all do not divide over {nodes} nodes")
        log = _log(path, name, benchmark, variant, nodes, cards // nodes)
        logs.append(dict(log, run=run if len(runs) > 1 else None))
    return logs


def _counts(text: str) -> List[int]:
    """Return 1 and 8 for ``_gpu1_gpu8``."""
    return [int(count) for count in re.findall(r"\d+", text)]


def parse_log_path(path: str, root: str = "") -> List[Log]:
    """Return the cell and repeat that the path of one log names, for each run in the file.

    ``path`` is relative to the folder ``root``, of which only the name counts: its last part names
    the benchmark where the path does not, and ``…/bz128`` or ``…/bz128/1n1g`` stand for the folders
    that are then missing in ``path``. Returns path, benchmark, model, all factors, variant,
    topology, nodes, devices_per_node, repeat, run (its number in the file, None for the only one);
    None where the path does not state it.

    :raises ValueError: the path follows no scheme, or contradicts itself.
    """
    *folders, filename = path.split("/")
    perf = _PERF.fullmatch(filename) or _PERF_OLD.fullmatch(filename)
    if perf is not None:
        if folders and folders[-1] in ("log", "logs", "train_log"):
            folders.pop()
        return _perf(path, perf, "/".join(folders) or _context(root)[0])
    match = _REFERENCE.fullmatch(filename)
    if match is None:
        raise ValueError("its name is neither <model>_b<batch>_<precision>_<i>.log nor …_NxCy_log")
    return [_reference(path, match, folders, root)]
