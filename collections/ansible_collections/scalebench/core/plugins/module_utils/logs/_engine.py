"""Reads one log by one format: one pass over the text, block by block, in flat memory."""

from __future__ import annotations

import re
from math import inf, isinf, isnan, nan

from . import _ending
from ._columns import Observations, numbers
from ._stamp import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

    from ._format import Format

__all__ = ["Engine"]

HEAD = 1 << 18
RANK = re.compile(r"\[\d{1,9},(\d{1,9})\]<std|\[(?:default|rank)(\d{1,9})\]|^\s*(\d{1,9}): ")


class Engine:
    """The state of one reading. Feed it blocks of clean text, then ask for the reading."""

    def __init__(self, format_: Format, limit: int) -> None:
        self.format = format_
        self.pattern = re.compile(format_.observation)
        self.fields = sorted(self.pattern.groupindex, key=self.pattern.groupindex.__getitem__)
        self.observations = Observations(format_.scope, limit)
        self.summary: Dict[str, Any] = {}
        self.runs: List[Dict[str, Any]] = []
        self.position = 0
        self.held = ""
        self._begin()

    def _begin(self) -> None:
        self.heads: List[str] = []
        self.head_size = 0
        self.events: Dict[str, Tuple[int, str]] = {}
        self.printed = self.ended = -1
        self.first = len(self.observations)
        self.summary = {}
        self.cut = ""

    def feed(self, block: str, last: bool = False) -> None:
        """Read one block; every block but the last ends with a line end."""
        if self.format.pairs:
            block = self._hold(block, last)
        if last and block and not block.endswith("\n"):
            block = self._whole(block)
        for at, piece in self._pieces(block):
            if at and self.printed >= 0:
                self._close()
                self._begin()
            self._read(piece)
            self.position += len(piece)

    def reading(self) -> Dict[str, Any]:
        """Close the log and return the reading; its last run stands for it."""
        self._close()
        run = self.runs[-1]
        return {
            "reader": self.format.name,
            "identity": run["identity"],
            "ending": run["ending"],
            "unit": self.format.unit,
            "scope": self.observations.scope,
            "observations": self.observations,
            "summary": run["summary"],
            "runs": self.runs,
        }

    def _pieces(self, block: str) -> Iterator[Tuple[bool, str]]:
        """Cut a block where a run begins: yield (a run begins here, text)."""
        starts = set()
        for words in self.format.start:
            at = block.find(words)
            while at >= 0:
                line = block.rfind("\n", 0, at) + 1
                if not _rank(block, at) > 0:
                    starts.add(line)
                at = block.find(words, at + len(words))
        begin, is_start = 0, False
        for at in sorted(starts):
            if at > begin:
                yield is_start, block[begin:at]
            begin, is_start = at, True
        yield is_start, block[begin:]

    def _read(self, text: str) -> None:
        if self.head_size < HEAD:
            self.heads.append(text[: HEAD - self.head_size])
            self.head_size += len(self.heads[-1])
        if self.format.needle in text:
            self._observe(text)
        if self.format.note and any(words in text for words in self.format.notes):
            self.format.note(text, self.summary)
        for words in self.format.end:
            at = text.rfind(words)
            if at >= 0:
                self.ended = max(self.ended, self.position + at)
        for kind, (at, line) in _ending.scan(text):
            known = self.events.get(kind)
            if known is None or known[0] < self.position + at:
                self.events[kind] = (self.position + at, line)

    def _observe(self, text: str) -> None:
        ranked = "]<std" in text or "[default" in text or "[rank" in text
        rows: Sequence[Any]
        if ranked:
            matches = list(self.pattern.finditer(text))
            rows = [match.groups("") for match in matches]
        else:
            rows = self.pattern.findall(text)
            if rows and len(self.fields) == 1:
                rows = [(row,) for row in rows]
        if not rows:
            return
        columns: Dict[str, List[float]] = {}
        for field, texts in zip(self.fields, zip(*rows)):
            columns[field] = seconds(texts) if field == "timestamp" else numbers(texts)
        if "loss" in columns:
            columns["loss"] = _printed_nan_is_inf(columns["loss"], rows, self.fields.index("loss"))
        if ranked:
            columns["rank"] = [_rank(text, match.start()) for match in matches]
        self.observations.extend(columns, len(rows))
        self.printed = self.position + text.rfind(self.format.needle)

    def _hold(self, block: str, last: bool) -> str:
        """Keep back the first half of an observation of two lines until the other half comes."""
        block = self.held + block
        self.held = ""
        if not last:
            at = block.rfind(self.format.pairs)
            if at > block.rfind(self.format.needle):
                start = block.rfind("\n", 0, at) + 1
                block, self.held = block[:start], block[start:]
        return block

    def _whole(self, block: str) -> str:
        """Drop a last line without an end if its last number may have been cut.

        A number that touches the end of the log is whole if it has as many decimals as the one
        before it (``lookup('file')`` strips the last line end; a killed writer stops anywhere).
        """
        start = block.rfind("\n") + 1
        tail = block[start:]
        match = _last(self.pattern, tail)
        if match is None or match.end() < len(tail):
            self.cut = "" if match else tail
            return block + "\n"
        before = _last(self.pattern, block[max(0, start - 5000) : start])
        if before is not None and _decimals(before.group()) == _decimals(match.group()):
            return block + "\n"
        self.cut = tail
        return block[:start]

    def _close(self) -> None:
        identity = {}
        if self.format.identify:
            identity = self.format.identify("".join(self.heads))
        count = len(self.observations) - self.first
        loss = self.observations.column("loss")
        loss_is_nan = loss is not None and count > 0 and isinf(loss[-1])
        ending = _ending.judge(
            self.events, self.printed, self.ended, bool(self.format.end), loss_is_nan
        )
        if ending["kind"] == "complete":
            if self.format.end and self.ended < 0:
                sought = " or ".join(repr(words) for words in self.format.end)
                ending = {"kind": "truncated", "detail": f"no line with {sought}"}
            elif not self.format.end and self.cut:
                ending = {"kind": "truncated", "detail": f"the last line is cut: {self.cut[:200]}"}
        run = {
            "first": self.first,
            "count": count,
            "identity": identity,
            "ending": ending,
            "summary": self.summary,
        }
        if self.format.finish:
            self.format.finish(run, self.observations)
        self.runs.append(run)


def _rank(text: str, at: int) -> float:
    """Return the rank in the launcher's tag of the line that position ``at`` is in, or NaN."""
    match = RANK.search(text, text.rfind("\n", 0, at) + 1, at)
    return float(match.group(match.lastindex)) if match and match.lastindex else nan


def _last(pattern: re.Pattern[str], text: str) -> Optional[re.Match[str]]:
    found = None
    for match in pattern.finditer(text):
        found = match
    return found


def _decimals(text: str) -> int:
    """Count the digits behind the last point."""
    return len(text) - text.rfind(".")


def _printed_nan_is_inf(values: List[float], rows: Sequence[Any], index: int) -> List[float]:
    """Tell a loss that was printed as nan (inf here) from one that was not printed (NaN here)."""
    if not isnan(sum(values)):
        return values
    return [inf if isnan(v) and row[index] else v for v, row in zip(values, rows)]
