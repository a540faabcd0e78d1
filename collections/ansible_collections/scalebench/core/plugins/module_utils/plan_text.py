"""The plan of a campaign in words: what --check shows."""

from __future__ import annotations

import shlex
from typing import Any, List, Mapping

__all__ = ["duration", "plan_text"]


def plan_text(planned: Mapping[str, Any]) -> str:
    """Return the plan as text of at most 100 columns, save for the commands, which are whole.

    :param planned: what module campaign_plan returned.
    """
    left = planned["missing"]
    measured = planned["measured"]
    source = f"{measured} of {len(left)} times are from earlier campaigns"
    source += "" if measured == len(left) else ", the others from the benchmark file"
    lines = [
        f"Campaign {planned['campaign']}: {len(planned['cells'])} cell(s),"
        f" {planned['repeats']} repeat(s), {len(left)} to run in about"
        f" {duration(planned['seconds'])}",
        f"({source})" if left else "(nothing is missing)",
        "",
        "Order, in rounds over the cells:",
    ]
    for number, repeat in enumerate(left, 1):
        note = "  oversubscribes the cores" if repeat["cell"]["oversubscribed"] else ""
        expected = duration(repeat["seconds"]) if repeat["seconds"] else "unknown"
        lines.append(f"{number:4}  {repeat['log'][5:]:<52} {expected:>9}{note}")
    for cell in planned["cells"]:
        lines += ["", f"{cell['directory']}/{cell['name']}: {cell['repeats']} repeat(s) of"]
        lines += _commands(cell)
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Return seconds in a person's words: ``45 s``, ``3 min 20 s``, ``2 h 05 min``.

    :param seconds: at least 0.
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def _commands(cell: Mapping[str, Any]) -> List[str]:
    lines = []
    for node in cell["node_names"]:
        command = cell["commands"][node]
        words = [f"{key}={shlex.quote(value)}" for key, value in command["env"].items()]
        words += [shlex.quote(argument) for argument in command["argv"]]
        lines.append(f"  {node}: {' '.join(words)}")
    return lines
