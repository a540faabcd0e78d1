"""What differs between the fingerprints of the nodes of two campaigns, equal changes once."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Tuple

__all__ = ["fingerprint_changes", "shown"]

Nodes = Mapping[str, Mapping[str, Any]]
Path = Tuple[str, ...]
# What differs from one hour to the next though nobody changed anything.
_PASSING = ("load", "disk_free_mib", "boot_id", "node")
# Levels of a fingerprint that only hold others, and add nothing to a name.
_SILENT = ("frameworks", "packages")
_NOT_THERE = "not there"


def fingerprint_changes(
    ours: Nodes, baseline: Nodes
) -> Tuple[List[Dict[str, Any]], List[Dict[str, str]]]:
    """Return what changed, and what only one side recorded.

    :param ours: fingerprints by name of the node, and ``baseline`` likewise.
    :returns: items of ``what``, ``nodes``, ``baseline`` and ``now``, as text; and items of
        ``what`` and ``side``, that of the two that does not tell.
    """
    changed = []
    for names, before, now in (
        ([name for name in ours if name not in baseline], _NOT_THERE, "there"),
        ([name for name in baseline if name not in ours], "there", _NOT_THERE),
    ):
        if names:
            changed.append({"what": "node", "nodes": names, "baseline": before, "now": now})
    same: Dict[Tuple[str, str, str], List[str]] = {}
    unknown: Dict[Tuple[str, str], None] = {}
    for name in (name for name in ours if name in baseline):
        for change in _differing(ours[name], baseline[name]):
            same.setdefault(change, []).append(name)
        unknown.update(dict.fromkeys(_unrecorded(ours[name], baseline[name])))
    for (what, before, now), nodes in same.items():
        changed.append({"what": what, "nodes": nodes, "baseline": before, "now": now})
    return changed, [{"what": what, "side": side} for what, side in unknown]


def _differing(
    ours: Mapping[str, Any], baseline: Mapping[str, Any]
) -> Iterator[Tuple[str, str, str]]:
    both = [key for key in ours if key in baseline and key not in _PASSING]
    now = dict(_facts({key: ours[key] for key in both}))
    before = dict(_facts({key: baseline[key] for key in both}))
    for path in sorted({*now, *before}):
        if now.get(path) != before.get(path):
            yield _title(path), before.get(path, _NOT_THERE), now.get(path, _NOT_THERE)


def _unrecorded(ours: Mapping[str, Any], baseline: Mapping[str, Any]) -> Iterator[Tuple[str, str]]:
    for side, known, other in (("baseline", baseline, ours), ("now", ours, baseline)):
        for key in other:
            if key not in known and key not in _PASSING:
                yield _title((key,)), side


def _facts(value: Any, path: Path = ()) -> Iterator[Tuple[Path, str]]:
    """Yield every fact of a fingerprint by its path; of devices in a list one fact for all."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _facts(inner, (*path, str(key)))
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        yield (*path, "number"), str(len(value))
        for key in [key for key in value[0] if key != "index"]:
            told = [shown(one.get(key)) for one in value]
            yield (*path, key), told[0] if len(set(told)) == 1 else ", ".join(told)
    else:
        yield path, shown(value)


def _title(path: Path) -> str:
    words = [word for word in path if word not in _SILENT] or path
    return " ".join(word.replace("_", " ") for word in words)


def shown(value: Any) -> str:
    """Return a recorded value as text: nothing is ``none``, a list its items with commas."""
    if value is None or value in ("", []):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
