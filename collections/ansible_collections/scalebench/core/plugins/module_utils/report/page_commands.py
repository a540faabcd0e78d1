"""The command of every cell, as a shell takes it: what its nodes ran, or would have run."""

from __future__ import annotations

import shlex
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ..evidence.redaction import RULES, Redactor
from ..layout.plain_text import plain
from ..layout.rows import cell_groups, labels
from ..records.cells import cell_key

__all__ = ["cell_commands", "shell_line"]

Commands = Mapping[str, Mapping[str, Any]]
# The nodes of a cell differ in their rank alone; plan.json and the run records have them all.
_MOST_NODES = 8
_MOST_COMMANDS = 800
# No command of ours is near this; one that somebody planted does not fill the page.
_LONGEST = 4000


def shell_line(command: Mapping[str, Any]) -> str:
    """Return one line for a POSIX shell: the environment, then the arguments, quoted.

    Known forms of secrets are replaced.

    :param command: ``argv`` and ``env``, of ``launch.commands``.
    """
    given = [f"{name}={_quoted(value)}" for name, value in (command.get("env") or {}).items()]
    line = _without_secrets(" ".join([*given, *map(_quoted, command["argv"])]))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} … (cut; plan.json has it whole)"


def _without_secrets(line: str) -> str:
    """Replace what has the form of a secret: a page is passed on more easily than a run record."""
    pieces = Redactor(RULES).redact([line.encode("utf-8", "replace")])
    return b"".join(pieces).decode("utf-8", "replace")


def _quoted(value: Any) -> str:
    """Quote a word as POSIX shells do; one with characters that do not show as bash does."""
    text = str(value)
    if text.isprintable():
        return shlex.quote(text)
    escaped = text.encode("unicode_escape").decode("ascii").replace("'", "\\'")
    return f"$'{escaped}'"


def cell_commands(
    results: Mapping[str, Any], plan: Mapping[str, Any], records: Sequence[Mapping[str, Any]]
) -> List[Dict[str, Any]]:
    """Return for each cell with known commands ``cell``, ``about``, ``nodes`` and ``more``.

    ``nodes``: ``node`` and ``line`` of each, the leading one first; ``more``: how many are left
    out. Where every cell's would be too many, the leading node's alone are there.

    :param plan: plan.json, whose cells have ``commands``; or empty.
    :param records: run records of schema 1 or 2.
    """
    ran, planned = _ran(records), _planned(plan)
    groups = cell_groups(results)
    known: List[Tuple[str, str, Commands]] = []
    for label, cells in zip(labels(groups), groups):
        for cell in cells:
            found = ran.get(cell_key(cell)) or planned.get(cell_key(cell))
            if found:
                known.append((f"{label} {cell['topology']}", *found))
    total = sum(min(len(nodes), _MOST_NODES) for _, _, nodes in known)
    most = _MOST_NODES if total <= _MOST_COMMANDS else 1
    return [
        {
            "cell": plain(name),
            "about": about,
            "nodes": [
                {"node": plain(node), "line": shell_line(command)}
                for node, command in _by_rank(nodes)[:most]
            ],
            "more": max(0, len(nodes) - most),
        }
        for name, about, nodes in known
    ]


def _by_rank(nodes: Commands) -> List[Tuple[str, Mapping[str, Any]]]:
    return sorted(nodes.items(), key=lambda pair: int(pair[1].get("rank") or 0))


def _ran(
    records: Sequence[Mapping[str, Any]],
) -> Dict[Tuple[str, ...], Tuple[str, Commands]]:
    """Return by cell what its first repeat ran."""
    found: Dict[Tuple[str, ...], Tuple[str, Commands]] = {}
    for record in sorted(records, key=lambda one: int(one["repeat"])):
        nodes = _commands(record.get("nodes"))
        if nodes and record.get("kind", "measured") == "measured":
            said = f"As repeat {record['repeat']} ran, by its run record"
            found.setdefault(cell_key(record["cell"]), (said, nodes))
    return found


def _planned(plan: Mapping[str, Any]) -> Dict[Tuple[str, ...], Tuple[str, Commands]]:
    said = "As planned; no run record has one"
    return {
        cell_key(cell): (said, _commands(cell.get("commands")))
        for cell in plan.get("cells", ())
        if _commands(cell.get("commands"))
    }


def _commands(nodes: Any) -> Commands:
    """Return the nodes with a command; a node that could not be reached has none."""
    return {
        str(name): one
        for name, one in (nodes if isinstance(nodes, Mapping) else {}).items()
        if isinstance(one, Mapping) and isinstance(one.get("argv"), (list, tuple))
    }
