"""What changed between two campaigns, by what they recorded: nodes, code, options, rules."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Tuple

__all__ = ["provenance_changes", "shown"]

Nodes = Mapping[str, Mapping[str, Any]]
Path = Tuple[str, ...]
# Facts that vary from one hour to the next without any change to the system.
_PASSING = ("load", "disk_free_mib", "boot_id", "node", "cpu_quota")
# Levels of a fingerprint that only group others, and add nothing to a name.
_SILENT = ("frameworks", "packages")
_NOT_THERE = "not there"


def fingerprint_changes(
    ours: Nodes, baseline: Nodes
) -> Tuple[List[Dict[str, Any]], List[Dict[str, str]]]:
    """Return what changed, and what only one side recorded.

    :param ours: fingerprints by name of the node, and ``baseline`` likewise.
    :returns: items of ``what``, ``nodes``, ``baseline`` and ``now``, as text; and items of
        ``what`` and the ``side``, baseline or now, that has no record of it.
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
        for change in _node_changes(ours[name], baseline[name]):
            same.setdefault(change, []).append(name)
        unknown.update(dict.fromkeys(_unrecorded(ours[name], baseline[name])))
    for (what, before, now), nodes in same.items():
        changed.append({"what": what, "nodes": nodes, "baseline": before, "now": now})
    return changed, [{"what": what, "side": side} for what, side in unknown]


def _node_changes(
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
            values = [shown(one.get(key)) for one in value]
            yield (*path, key), values[0] if len(set(values)) == 1 else ", ".join(values)
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


Provenance = Mapping[str, Any]
# The same logs in another folder are the same measurement.
_PLACES = ("log_dir",)


def provenance_changes(ours: Provenance, baseline: Provenance) -> Dict[str, List[Dict[str, Any]]]:
    """Return what differs between two provenances of results.json.

    :returns: ``changed``: items of ``what``, ``nodes`` (of which it holds; none for the campaign
        as a whole), ``baseline`` and ``now``, as text; ``not_recorded``: items of ``what`` and
        the ``side``, baseline or now, that has no record of it.
    """
    changed: List[Dict[str, Any]] = []
    unknown: List[Dict[str, str]] = []
    for what, key in (("nodes", "nodes"), ("code", "controller")):
        for side, known in (("baseline", baseline), ("now", ours)):
            if not known.get(key):
                unknown.append({"what": what, "side": side})
    if ours.get("nodes") and baseline.get("nodes"):
        changed, more = fingerprint_changes(ours["nodes"], baseline["nodes"])
        unknown += more
    if ours.get("controller") and baseline.get("controller"):
        changed += _differing("controller ", ours["controller"], baseline["controller"])
    changed += _differing("option ", ours.get("options") or {}, baseline.get("options") or {})
    changed += _differing("variant ", _variants(ours), _variants(baseline))
    changed += _differing("", _rules(ours), _rules(baseline))
    return {"changed": changed, "not_recorded": unknown}


def _differing(
    kind: str, ours: Mapping[str, Any], baseline: Mapping[str, Any]
) -> List[Dict[str, Any]]:
    return [
        {
            "what": f"{kind}{name}",
            "nodes": [],
            "baseline": shown(baseline.get(name)),
            "now": shown(ours.get(name)),
        }
        for name in sorted({*ours, *baseline})
        if name not in _PLACES and ours.get(name) != baseline.get(name)
    ]


def _variants(side: Provenance) -> Dict[str, Any]:
    """Return what each variant changes; one of the same name need not be the same."""
    return {
        f"{benchmark} {name}": [f"{key} {changes[key]}" for key in sorted(changes)] or "no changes"
        for benchmark, variants in (side.get("variants") or {}).items()
        for name, changes in variants.items()
    }


def _rules(side: Provenance) -> Dict[str, str]:
    """Return the strategies, each with the parameters that are not its own."""
    rules = []
    for one in side.get("strategies") or ():
        changed = one.get("changed") or {}
        values = ", ".join(f"{key} {shown(changed[key])}" for key in sorted(changed))
        rules.append(f"{one['name']} ({values})" if values else str(one["name"]))
    return {"rule from log to throughput": "; ".join(sorted(rules))}
