"""Parses the observations in a piece of text: selects candidate lines, then extracts the fields."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from math import isfinite
from operator import gt

from ._columns import WHOLE, losses, numbers, whole_numbers
from ._stamp import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from typing import Dict, List, Optional, Sequence, Tuple

    from ._format import Format

__all__ = ["RANK", "Lines", "interval", "restarts"]

OVERTAKEN = 4
# Prefixes of launchers: Open MPI "[1,0]<stdout>:" (also after a date) and "[0] ",
# torchrun "[default0]:", Slurm's srun --label "0: ".
RANK = re.compile(
    r"(?:[^\[\n]{0,40}\[\d{1,9},|\[(?:default|rank)?|[ ]{0,8})(?P<rank>\d{1,9})"
    r"(?:\]<std\w{3}>:|\]: ?|\] |: )"
)


class Lines:
    """Parses the observation lines of one format."""

    def __init__(self, format_: Format) -> None:
        self.needles = format_.needles
        self.pair = format_.pair
        self.mark = format_.mark
        self.plain = re.compile("^" + format_.observation + "[^\n]*", re.M)
        ranked = "^(?:" + RANK.pattern + ")?" + format_.observation + "[^\n]*"
        self.ranked = re.compile(ranked, re.M)
        self.unit = ""

    def split(self, text: str) -> Tuple[List[str], str]:
        """Return the candidate observation lines, and the other lines as text."""
        lines = text.split("\n")
        needles = [needle for needle in self.needles if needle in text]
        if not needles:
            return [], text
        if len(needles) == 1:
            needle = needles[0]
            chosen = [line for line in lines if needle in line]
            if len(chosen) >= len(lines) - 1:
                return chosen, ""
            return chosen, "\n".join([line for line in lines if needle not in line]) + "\n"
        keep = [any(words in line for words in needles) for line in lines]
        chosen = [line for line, kept in zip(lines, keep) if kept]
        return chosen, "\n".join([line for line, kept in zip(lines, keep) if not kept]) + "\n"

    def columns(self, lines: List[str]) -> Tuple[Dict[str, array[float]], int, bool]:
        """Return the fields as columns, the number of observations, and if all lines are such."""
        text = "\n".join(lines)
        if self.mark and text.count(self.mark) > len(lines):
            lines = [part for line in lines for part in _parts(line, self.mark)]
            text = "\n".join(lines)
        pattern = self.ranked if _tagged(lines[0]) or _tagged(lines[-1]) else self.plain
        rows = pattern.findall(text)
        columns: Dict[str, array[float]] = {}
        if not rows:
            return columns, 0, False
        if isinstance(rows[0], str):
            rows = [(row,) for row in rows]
        for field, texts in zip(pattern.groupindex, zip(*rows)):
            if field == "unit":
                self.unit = _unit(texts[-1]) or self.unit
            elif field == "timestamp":
                columns[field] = seconds(texts)
            elif field == "loss" and any(texts):
                columns[field] = losses(texts)
            elif field in WHOLE and any(texts):
                columns[field] = whole_numbers(texts)
            elif any(texts):
                columns[field.replace("_2", "")] = numbers(texts)
        return columns, len(rows), len(rows) * (2 if self.pair else 1) == len(lines)

    def last_field(self, lines: List[str]) -> Optional[Tuple[str, str, str]]:
        """Return (name, text, text after it) of the last field of the last observation."""
        match = None
        for match in self.ranked.finditer("\n".join(lines)):  # noqa: B007 (the last one counts)
            pass
        if match is None:
            return None
        end, name = max((match.end(name), name) for name in match.groupdict())
        return name, match.group(name), match.string[end : match.end()].strip()


def _tagged(line: str) -> bool:
    return RANK.match(line) is not None


def _parts(line: str, mark: str) -> List[str]:
    """Split a line before each mark; every part gets the launcher's prefix of the line."""
    tag = RANK.match(line)
    head, *records = line.split(mark)
    if not records:
        return [line]
    prefix = (tag.group() if tag else "") + mark
    return [head + mark + records[0]] + [prefix + record for record in records[1:]]


def _unit(text: str) -> str:
    """Return ``images/s`` for ``img/s``, ``sequences/s`` for ``seq/s``, ``samples/s`` ..."""
    noun = text.partition("/")[0]
    return {"img": "images", "imgs": "images", "seq": "sequences"}.get(noun, noun) + "/s"


def restarts(
    steps: Sequence[float], epochs: Optional[Sequence[float]], ranks: Optional[Sequence[float]]
) -> List[int]:
    """Return the indexes at which training starts again, by the steps of the first rank.

    There it returns to its first step and epoch. A decrease by a few intervals is ignored, because
    ranks without prefixes overtake each other by that much.
    """
    kept: Sequence[int] = range(len(steps))
    if ranks is not None:
        first = ranks[0]
        kept = [at for at in kept if ranks[at] == first]
        steps = [steps[at] for at in kept]
        epochs = [epochs[at] for at in kept] if epochs is not None else None
    if not any(map(gt, steps, islice(steps, 1, None))):
        return []
    gap = min([b - a for a, b in zip(steps, islice(steps, 1, None)) if b > a] or [1.0])
    starts: List[int] = []
    begin = 0
    for at in range(1, len(steps)):
        falls = steps[at - 1] - steps[at] >= OVERTAKEN * gap  # false for a step not printed
        at_begin = steps[at] <= steps[begin] and (epochs is None or epochs[at] <= epochs[begin])
        if falls and at_begin:
            starts.append(kept[at])
            begin = at
    return starts


def interval(steps: Sequence[float], ranks: Optional[Sequence[float]]) -> int:
    """Return the number of steps from one line of a rank to its next: the most frequent one.

    Of a single line it is its step.
    """
    if ranks is not None and isfinite(ranks[0]):
        steps = [step for step, rank in zip(steps, ranks) if rank == ranks[0]]
    gaps = [int(b - a) for a, b in zip(steps, islice(steps, 1, None)) if b > a]
    if gaps:
        counts = Counter(gaps)
        return max(counts, key=lambda gap: (counts[gap], -gap))
    return max(1, int(steps[0])) if isfinite(steps[0]) else 1
