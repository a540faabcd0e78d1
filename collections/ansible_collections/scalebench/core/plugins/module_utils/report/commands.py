"""The command of every cell, as a shell takes it: what its nodes ran, or would have run."""

from __future__ import annotations

import shlex
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ..evidence.redaction import shown
from ..layout.groups import named_cells
from ..layout.plain_text import plain
from ..records.cells import CellKey, cell_key
from ..records.results import Results

__all__ = ["cell_commands", "shell_line"]

Commands = Mapping[str, Mapping[str, Any]]
# The nodes of a cell differ in their rank alone; plan.json and the run records have them all.
_MOST_NODES = 8
_MOST_COMMANDS = 800
# No command of ours is near this length; a planted one must not fill the page.
_LONGEST = 4000


def shell_line(command: Mapping[str, Any]) -> str:
    """Return one line for a POSIX shell: the environment, then the arguments, quoted.

    Known forms of secrets are replaced: a page is passed on more easily than a run record.

    :param command: ``argv`` and ``env``, of ``launch.commands``.
    """
    environment = [f"{name}={_quoted(value)}" for name, value in (command.get("env") or {}).items()]
    line = " ".join([*environment, *map(_quoted, command["argv"])])
    line = str(shown(line))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} … (cut; plan.json has it whole)"


def _quoted(value: Any) -> str:
    """Quote a word as POSIX shells do; one with characters that do not show as bash does."""
    text = str(value)
    if text.isprintable():
        return shlex.quote(text)
    escaped = text.encode("unicode_escape").decode("ascii").replace("'", "\\'")
    return f"$'{escaped}'"


def cell_commands(
    results: Results, plan: Mapping[str, Any], records: Sequence[Mapping[str, Any]]
) -> List[Dict[str, Any]]:
    """Return for each cell with known commands ``cell``, ``about``, ``nodes`` and ``more``.

    ``nodes``: ``node`` and ``line`` of each, the leading one first; ``more``: how many are left
    out. A page with too many commands has the leading node's only.

    :param plan: plan.json, whose cells have ``commands``; or empty.
    :param records: run records of schema 1 or 2.
    """
    known = {**_planned(plan), **_recorded(records)}
    cells = [
        (f"{label} {cell['topology']}", *known[cell_key(cell)])
        for label, cell in named_cells(results)
        if cell_key(cell) in known
    ]
    total = sum(min(len(nodes), _MOST_NODES) for _, _, nodes in cells)
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
        for name, about, nodes in cells
    ]


def _by_rank(nodes: Commands) -> List[Tuple[str, Mapping[str, Any]]]:
    return sorted(nodes.items(), key=lambda pair: int(pair[1].get("rank") or 0))


def _recorded(records: Sequence[Mapping[str, Any]]) -> Dict[CellKey, Tuple[str, Commands]]:
    """Return by cell what its first repeat ran."""
    known: Dict[CellKey, Tuple[str, Commands]] = {}
    for record in sorted(records, key=lambda one: int(one["repeat"])):
        nodes = _commands(record.get("nodes"))
        if nodes and record.get("kind", "measured") == "measured":
            about = f"As run by repeat {record['repeat']}, from its run record"
            known.setdefault(cell_key(record["cell"]), (about, nodes))
    return known


def _planned(plan: Mapping[str, Any]) -> Dict[CellKey, Tuple[str, Commands]]:
    about = "As planned; no run record has a command"
    return {
        cell_key(cell): (about, _commands(cell.get("commands")))
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
