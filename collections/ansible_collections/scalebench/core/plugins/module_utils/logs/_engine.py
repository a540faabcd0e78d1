"""Reads one log by one format: one pass over the text, block by block, in flat memory."""

from __future__ import annotations

import re
from math import inf, isinf, isnan

from . import _ending, ai_rank
from ._columns import Observations, numbers
from ._format import STAMP
from ._stamp import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

    from ._format import Format

__all__ = ["Engine"]

HEAD = 1 << 18
# What launchers put before a line: Open MPI "[1,0]<stdout>:" (also behind a date) and "[0] ",
# torchrun "[default0]:", Slurm's srun --label "0: ".
RANK = (
    r"(?:(?:[^\[\n]{0,40}\[\d{1,9},|\[(?:default|rank)?|[ ]*)(?P<rank>\d{1,9})"
    r"(?:\]<std\w{3}>:|\]: ?|\] |: ))?"
)


class Engine:
    """The state of one reading. Feed it blocks of clean text, then ask for the reading."""

    def __init__(self, format_: Format, limit: int) -> None:
        self.format = format_
        self.pattern = re.compile("^" + RANK + format_.observation + "[^\n]*", re.M)
        self.fields = sorted(self.pattern.groupindex, key=self.pattern.groupindex.__getitem__)
        self.observations = Observations(format_.scope, limit)
        self.unit = format_.unit
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
        self.summary: Dict[str, Any] = {}
        self.cut = ""
        self.ranked = False

    def feed(self, block: str, last: bool = False) -> None:
        """Read one block; every block but the last ends with a line end."""
        if len(self.format.needles) > 1:
            block = self._hold(block, last)
        if last and block and not block.endswith("\n"):
            block = self._whole(block)
        for is_start, piece in self._pieces(block):
            if is_start and self.printed >= 0:
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
            "unit": self.unit,
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
                rank = re.match(RANK, block[line:at])
                if rank is None or int(rank.group("rank") or 0) == 0:
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
        if self.format.needles[-1] in text:
            self._observe(text)
        if self.format.note and any(words in text for words in self.format.notes):
            self.format.note(text, self.summary)
        if ai_rank.WORDS in text:
            ai_rank.note(text, self.summary)
            self.ranked = True
        for words in self.format.end:
            at = text.rfind(words)
            if at >= 0:
                self.ended = max(self.ended, self.position + at)
        for kind, (at, line) in _ending.scan(text):
            known = self.events.get(kind)
            if known is None or known[0] < self.position + at:
                self.events[kind] = (self.position + at, line)

    def _observe(self, text: str) -> None:
        rows: Sequence[Any] = self.pattern.findall(self._lines(text))
        if not rows:
            return
        columns: Dict[str, List[float]] = {}
        for field, texts in zip(self.fields, zip(*rows)):
            if field == "unit":
                self.unit = _unit(texts[-1]) or self.unit
            elif field == "timestamp":
                columns[field] = seconds(texts)
            elif field != "rank" or any(texts):
                columns[field] = numbers(texts)
        if "loss" in columns:
            columns["loss"] = _nan_is_inf(columns["loss"], rows, self.fields.index("loss"))
        self.observations.extend(columns, len(rows))
        self.printed = self.position + text.rfind(self.format.needles[-1])

    def _lines(self, text: str) -> str:
        """Return the lines that may be observations; two records on one line become two lines."""
        needles = self.format.needles
        if len(needles) == 1:
            needle = needles[0]
            lines = [line for line in text.split("\n") if needle in line]
        else:
            lines = [line for line in text.split("\n") if any(words in line for words in needles)]
        found = "\n".join(lines)
        mark = self.format.mark
        if mark and found.count(mark) > len(lines):
            found = "\n".join(part for line in lines for part in _parts(line, mark))
        return found

    def _hold(self, block: str, last: bool) -> str:
        """Keep back the first line of an observation of two lines until the other one comes."""
        block = self.held + block
        self.held = ""
        at = block.rfind(self.format.needles[0])
        if not last and at > block.rfind(self.format.needles[-1]):
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
        match = _last(self.pattern, self._lines(tail))
        if match is None or not tail.endswith(_last_group(match)):
            self.cut = "" if match else tail
            return block + "\n"
        before = _last(self.pattern, self._lines(block[max(0, start - 5000) : start]))
        if before and _decimals(_last_group(before)) == _decimals(_last_group(match)):
            return block + "\n"
        self.cut = tail
        return block[:start]

    def _close(self) -> None:
        """End the run that is being read; one that goes back to an earlier step is two runs."""
        identity = self.format.identify("".join(self.heads)) if self.format.identify else {}
        end = len(self.observations)
        for at in _restarts(self.observations, self.first, end):
            detail = f"the log begins again after observation {at - self.first}"
            self._add(at, dict(identity), {"kind": "truncated", "detail": detail}, {})
        self._add(end, identity, self._ending(), self.summary)

    def _ending(self) -> Dict[str, str]:
        loss = self.observations.column("loss")
        loss_is_nan = loss is not None and len(loss) > self.first and isinf(loss[-1])
        end = self.format.end if self.format.closes else ()
        ending = _ending.judge(self.events, self.printed, self.ended, bool(end), loss_is_nan)
        if ending["kind"] != "complete" or self.ended >= 0:
            return ending
        if end:
            sought = " or ".join(repr(words) for words in end)
            return {"kind": "truncated", "detail": f"no line with {sought}"}
        if self.cut:
            return {"kind": "truncated", "detail": f"the last line is cut: {self.cut[:200]}"}
        return ending

    def _add(
        self, end: int, identity: Dict[str, Any], ending: Dict[str, str], summary: Dict[str, Any]
    ) -> None:
        if self.ranked:
            ai_rank.in_percent(summary)
        run: Dict[str, Any] = {
            "first": self.first,
            "count": end - self.first,
            "identity": identity,
            "ending": ending,
            "summary": summary,
        }
        if "evaluations" in summary:
            stamp = re.search(STAMP, "".join(self.heads))
            run["started"] = seconds([stamp.group()])[0] if stamp else None
        if self.format.finish:
            self.format.finish(run, self.observations)
        self.runs.append(run)
        self.first = end


def _parts(line: str, mark: str) -> List[str]:
    """Cut a line before each mark; every part gets the launcher's tag that the line begins with."""
    tag = re.match(RANK, line)
    head, *records = line.split(mark)
    return [head + mark + records[0]] + [
        (tag.group() if tag else "") + mark + record for record in records[1:]
    ]


def _restarts(observations: Observations, first: int, end: int) -> List[int]:
    """Return where the step of the first rank goes back although the epoch does not advance."""
    steps, epochs, ranks = map(observations.column, ("step", "epoch", "rank"))
    if steps is None or end - first < 2:
        return []
    found: List[int] = []
    before = (-inf, -inf)
    for at in range(first, end):
        if ranks is not None and ranks[at] != ranks[first]:
            continue
        now = (epochs[at] if epochs is not None else 0.0, steps[at])
        if now < before:
            found.append(at)
        if not isnan(now[1]):
            before = now
    return found


def _unit(text: str) -> str:
    """Return ``images/s`` for ``img/s``, ``sequences/s`` for ``seq/s``, ``samples/s`` ..."""
    noun = text.partition("/")[0]
    return {"img": "images", "imgs": "images", "seq": "sequences"}.get(noun, noun) + "/s"


def _last(pattern: re.Pattern[str], text: str) -> Optional[re.Match[str]]:
    found = None
    for match in pattern.finditer(text):
        found = match
    return found


def _last_group(match: re.Match[str]) -> str:
    """Return the text of the group that ends last."""
    return max((match.end(n), match.group(n) or "") for n in range(1, match.re.groups + 1))[1]


def _decimals(text: str) -> int:
    """Count the digits behind the last point."""
    return len(text) - text.rfind(".")


def _nan_is_inf(values: List[float], rows: Sequence[Any], index: int) -> List[float]:
    """Tell a loss that was printed as nan (inf here) from one that was not printed (NaN here)."""
    if not isnan(sum(values)):
        return values
    return [inf if isnan(v) and row[index] else v for v, row in zip(values, rows)]
