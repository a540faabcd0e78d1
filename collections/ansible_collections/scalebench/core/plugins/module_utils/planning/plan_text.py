"""The plan of a campaign in words: what --check shows."""

from __future__ import annotations

import re
import shlex
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..records.factors import factor_values, factor_words
from ..records.node_names import by_words, fold, folded
from ..records.plans import Cell, PlannedRepeat

__all__ = ["duration", "plan_text"]

_NUMBER = re.compile(r"([0-9]+)")


def plan_text(planned: Mapping[str, Any]) -> str:
    """Return the plan as text of at most 100 columns, save for the commands, which are whole.

    :param planned: what module campaign_plan returned.
    """
    waves = planned["waves"]
    missing, measured = planned["missing"], planned["measured"]
    unknown = sum(not repeat["seconds"] for wave in waves for repeat in wave["repeats"])
    source = f"{measured} of {missing} times are from earlier campaigns"
    if unknown:
        stated = missing - measured - unknown
        source += f", {stated} from the benchmark file, {unknown} unknown"
    elif measured < missing:
        source += ", the others from the benchmark file"
    expected = f"in {'more than' if unknown else 'about'} {duration(planned['seconds'])}"
    if unknown and unknown == missing:
        expected = "in an unknown time"
    if not waves:
        source = "nothing is missing"
    # Repeats of cells that are unavailable, or were tried as often as they may be.
    if not waves and planned["not_run"]:
        source = "nothing is left to run; below is what does not run, with the reason"
    lines = [
        f"Campaign {planned['campaign']}: {len(planned['cells'])} cell(s),"
        f" {planned['repeats']} repeat(s), {missing} to run {expected}",
        f"({source})",
        *_packing(planned),
        *_duration(planned),
        *(
            f"{repeat['log'][5:]}: {repeat['ending']}: {repeat['reason']}"
            for repeat in planned["not_run"]
        ),
    ]
    if waves:
        order = "Order, in rounds over the cells:" if planned["packing"] == "none" else "Waves:"
        lines += ["", order]
    by_device = planned["packing"] == "devices"
    for number, wave in enumerate(waves, 1):
        for place, repeat in enumerate(wave["repeats"]):
            head = "" if place else str(number)
            expected = duration(repeat["seconds"]) if repeat["seconds"] else "unknown"
            lines.append(
                f"{head:>4}  {repeat['log'][5:]:<52} {expected:>9}{_note(repeat, by_device)}"
            )
    for cell in planned["cells"]:
        many = f"{cell['repeats']} repeat(s)" if cell["repeats"] else "as many as bisecting takes"
        lines += ["", f"{cell['directory']}/{cell['name']}: {many} of {_scaling(cell)}"]
        lines += _commands(cell)
    return "\n".join(lines)


def _scaling(cell: Cell) -> str:
    """Return the mode of scaling of a cell and its batch sizes."""
    sizes = ("batch_size_per_device", "global_batch_size")
    words = factor_words(factor_values(cell, lambda factor: factor.name in ("scaling", *sizes)))
    return ", ".join([words.pop("scaling"), *(words[name] for name in sizes if name in words)])


def _packing(planned: Mapping[str, Any]) -> List[str]:
    """Return how well the waves use the cluster, where they are packed."""
    if planned["packing"] == "none" or not planned["lower_bound"]:
        return []
    return [
        f"Packed into {len(planned['waves'])} waves: {planned['seconds']:.0f} s; no order of these"
        f" repeats takes less than {planned['lower_bound']:.0f} s"
    ]


def _duration(planned: Mapping[str, Any]) -> List[str]:
    """Return how the campaign goes on after the planned repeats."""
    if not planned.get("duration"):
        return []
    return [
        "Then rounds of one repeat of each cell, until repeats have run for"
        f" {duration(planned['duration'])} in all"
    ]


def _note(repeat: PlannedRepeat, by_device: bool) -> str:
    notes = []
    if repeat["cell"]["oversubscribed"]:
        notes.append("oversubscribes the cores")
    if repeat["packed_with"]:
        cell = repeat["cell"]
        seats = {
            name: f" ({' '.join(map(str, cell['node_devices'][name]))})" if by_device else ""
            for name in cell["node_names"]
        }
        notes.append("on " + ", ".join(by_words(seats.items(), "")))
    if repeat["shares_machine"]:
        notes.append("shares a machine")
    return "  " + ", ".join(notes) if notes else ""


def duration(seconds: float) -> str:
    """Return seconds in words: ``45 s``, ``3 min 20 s``, ``2 h 05 min``.

    :param seconds: at least 0.
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def _commands(cell: Cell) -> List[str]:
    """Return the command of each node; those that differ in ascending numbers alone in one line."""
    alike: Dict[str, Dict[str, str]] = {}
    for node in cell["node_names"]:
        command = cell["commands"][node]
        words = [f"{key}={shlex.quote(value)}" for key, value in command["env"].items()]
        line = " ".join([*words, *map(shlex.quote, command["argv"])])
        alike.setdefault(_NUMBER.sub("0", line), {})[node] = line
    lines = []
    for commands in alike.values():
        together = _together([*commands.values()])
        if together:
            lines.append(f"  {folded(commands)}: {together}")
        else:
            lines += [f"  {node}: {line}" for node, line in commands.items()]
    if len(lines) < len(cell["node_names"]):
        lines.append("  ([...]: the number of each node, in their order)")
    return lines


def _together(lines: Sequence[str]) -> Optional[str]:
    """Return lines that differ in numbers alone as one; None where one does not ascend."""
    parts = []
    for values in zip(*map(_NUMBER.split, lines)):
        if len({*values}) > 1:
            numbers = [int(value) for value in values]
            if len(fold(values)) > 1 or numbers != sorted({*numbers}):
                return None
        parts += fold(values)
    return "".join(parts)
