"""The sections of report.md that only some campaigns have: searches and packing."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Sequence

from ..layout.rows import machines
from ..records.cells import cell_key
from .notes import code, unquoted

__all__ = ["packing_lines", "search_parts"]


def search_parts(results: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """Return ``title``, ``found`` (a sentence) and ``lines`` of each search, in Markdown."""
    return [
        {
            "title": f"{search['benchmark']} {search['precision']}:"
            f" {', '.join(search['topologies'])}",
            "found": _found(search),
            "lines": [*_tried(search["tried"])],
        }
        for search in results["searches"]
    ]


def _found(search: Mapping[str, Any]) -> str:
    if not search["largest"]:
        reason = unquoted(search["reason"])
        return f"{reason[0].upper()}{reason[1:]}."
    limit = f", with at most {search['memory_mib']} MiB a process" if search["memory_mib"] else ""
    return (
        f"The largest batch size per device that runs is {search['largest']}{limit}. It was"
        f" searched on {search['tried_on']} and is used for every topology."
    )


def _tried(tried: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say what was tried: what ran on one line, the rest with its log and reason."""
    ran = [str(one["batch_size_per_device"]) for one in tried if one["ending"] == "ok"]
    if ran:
        yield f"ok: {', '.join(ran)}"
    for one in tried:
        if one["ending"] != "ok":
            reason = code(one["reason"] or "no reason given")
            yield f"{one['batch_size_per_device']}: {unquoted(one['ending'])}: {reason}"


def packing_lines(results: Mapping[str, Any]) -> List[str]:
    """Return what ran beside what, and what that cost, in Markdown; nothing if not packed."""
    packing, found = results["packing"], results["interference"]
    if not packing:
        return []
    many = f"{packing['beside_others']} of {packing['repeats']} repeats ran beside others"
    said = [f"packing={packing['packing']}: {many}, on disjoint {packing['packing']}"]
    if packing["on_one_machine"]:
        shared = [", ".join(names) for names in machines(results).values() if len(names) > 1]
        said.append(
            f"{packing['on_one_machine']} of them had neighbours on the same machine:"
            f" {unquoted('; '.join(shared))} are one"
        )
    for one in found["failures"]:
        said.append(f"{code(one['log'])}: {unquoted(one['ending'])}: {code(one['reason'])}")
    if not found["n"]:
        return [*said, f"interference: {unquoted(found['reason'])}"]
    said.append(
        f"interference, speed beside others / speed alone: median {found['median']:.3f} of"
        f" {found['n']} pair(s)"
    )
    for cell in found["cells"]:
        ratios = ", ".join(f"{ratio:.3f}" for ratio in cell["ratios"])
        said.append(f"{unquoted(cell_key(cell).short)}: {ratios}")
    return said
