"""What changed between two campaigns, by what they recorded: nodes, code, options, rules."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .fingerprint_changes import fingerprint_changes, shown

__all__ = ["provenance_changes"]

Provenance = Mapping[str, Any]
# Another folder with the same logs is no change of what was measured.
_PLACES = ("log_dir",)


def provenance_changes(ours: Provenance, baseline: Provenance) -> Dict[str, List[Dict[str, Any]]]:
    """Return what differs between two provenances of results.json.

    :returns: ``changed``: items of ``what``, ``nodes`` (of which it holds; none for the campaign
        as a whole), ``baseline`` and ``now``, as text; ``not_recorded``: items of ``what`` and
        the ``side``, baseline or now, that does not tell.
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


def _rules(side: Provenance) -> Dict[str, str]:
    """Return the strategies, each with the parameters that are not its own."""
    said = []
    for one in side.get("strategies") or ():
        changed = one.get("changed") or {}
        values = ", ".join(f"{key} {shown(changed[key])}" for key in sorted(changed))
        said.append(f"{one['name']} ({values})" if values else str(one["name"]))
    return {"rule from log to throughput": "; ".join(sorted(said))}
