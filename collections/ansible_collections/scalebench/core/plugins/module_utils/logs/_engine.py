"""Reads one log by one format: one pass over the text, block by block, in flat memory."""

from __future__ import annotations

import re
from math import isinf

from . import _ending, _own, ai_rank
from ._columns import Observations
from ._format import STAMP
from ._lines import RANK, Lines, restarts
from ._stamp import moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Tuple

    from ._format import Format

__all__ = ["Engine"]

HEAD = 1 << 18


class Engine:
    """The state of one reading. Feed it blocks of clean text, then ask for the reading."""

    def __init__(self, format_: Format, limit: int) -> None:
        self.format = format_
        self.lines = Lines(format_)
        self.observations = Observations(format_.scope, limit)
        self.runs: List[Dict[str, Any]] = []
        self.position = 0
        self.held = ""
        self.begun = False
        self._begin()

    def _begin(self) -> None:
        self.heads: List[str] = []
        self.head_size = 0
        self.events: Dict[str, Tuple[int, str]] = {}
        self.printed = self.ended = self.own_ended = -1
        self.first = len(self.observations)
        self.summary: Dict[str, Any] = {}
        self.cut = ""
        self.ranked = False

    def feed(self, block: str, last: bool = False) -> None:
        """Read one block; every block but the last ends with a line end."""
        if self.format.pair:
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
        """Close the log and return the reading; its last run stands for it.

        :raises ValueError: the log has nothing of the format, not even a beginning.
        """
        self._close()
        run = self.runs[-1]
        if not (len(self.observations) or self.begun or any(one["summary"] for one in self.runs)):
            crash = f"; it ends with {run['ending']['kind']}: {run['ending']['detail']}"
            crash = crash if run["ending"]["kind"] not in ("complete", "truncated") else ""
            raise ValueError(f"no line of format {self.format.name}{crash}")
        return {
            "reader": self.format.name,
            "own_trainer": run["own_trainer"],
            "identity": run["identity"],
            "ending": run["ending"],
            "unit": self.lines.unit or self.format.unit,
            "scope": self.observations.scope,
            "observations": self.observations,
            "summary": run["summary"],
            "runs": self.runs,
        }

    def _hold(self, block: str, last: bool) -> str:
        """Keep back the first line of an observation of two lines until the other one comes."""
        block = self.held + block
        self.held = ""
        first, second = self.format.needles
        at = block.rfind(first)
        if not last and at > block.rfind(second):
            start = block.rfind("\n", 0, at) + 1
            block, self.held = block[:start], block[start:]
        return block

    def _whole(self, block: str) -> str:
        """Drop a last line without an end if its last number may have been cut.

        A killed writer stops anywhere, but ``lookup('file')`` strips the last line end as well: a
        number that touches the end of the log is taken for whole if the one before it also ended
        its line, and had as many decimals, or no more digits where there are none.
        """
        start = block.rfind("\n") + 1
        tail = block[start:]
        last = self.lines.last_field(self.lines.split(tail)[0])
        if last is None or last[2] or not tail.rstrip().endswith(last[1]):
            self.cut = tail if last is None else ""
            return block + "\n"
        before = self.lines.last_field(self.lines.split(block[max(0, start - 5000) : start])[0])
        if before is not None and before[0] == last[0] and not before[2]:
            (digits, decimals), (digits_before, decimals_before) = map(
                _places, (last[1], before[1])
            )
            if decimals == decimals_before and (decimals or digits >= digits_before):
                return block + "\n"
        self.cut = tail
        return block[:start]

    def _pieces(self, block: str) -> Iterator[Tuple[bool, str]]:
        """Cut a block where a run begins: yield (a run begins here, text)."""
        starts = set()
        for words in (*self.format.start, _own.START):
            at = block.find(words)
            while at >= 0:
                line = block.rfind("\n", 0, at) + 1
                rank = RANK.match(block, line, at)
                if rank is None or int(rank.group("rank")) == 0:
                    starts.add(line)
                at = block.find(words, at + len(words))
        self.begun = self.begun or bool(starts)
        begin, is_start = 0, False
        for at in sorted(starts):
            if at > begin:
                yield is_start, block[begin:at]
            begin, is_start = at, True
        yield is_start, block[begin:]

    def _read(self, text: str) -> None:
        lines, others = self.lines.split(text)
        if lines:
            columns, count, all_are = self.lines.columns(lines)
            if count:
                self.observations.extend(columns, count)
                self.printed = self.position + text.rfind(lines[-1])
            if self.format.whole or not all_are:
                others = text
        if others:
            self._read_others(text, others)

    def _read_others(self, text: str, others: str) -> None:
        """Read what is no observation: settings, sums, complaints, the end."""
        if self.head_size < HEAD:
            self.heads.append(others[: HEAD - self.head_size])
            self.head_size += len(self.heads[-1])
        if self.format.note and any(words in others for words in self.format.notes):
            self.format.note(others, self.summary)
        if ai_rank.WORDS in others:
            ai_rank.note(others, self.summary)
            self.ranked = True
        for words in self.format.end:
            if words in others:
                self.ended = max(self.ended, self.position + text.rfind(words))
        if _own.END in others:
            _own.note(others, self.summary)
            self.own_ended = self.position + text.rfind(_own.END)
        for kind, words, line in _ending.scan(others):
            at = self.position + text.rfind(words)
            if kind not in self.events or self.events[kind][0] < at:
                self.events[kind] = (at, line)

    def _close(self) -> None:
        """End the run that is being read; one that goes back to an earlier step is two runs."""
        head = "".join(self.heads)
        identity = _own.identify(head)
        own = bool(identity) or self.own_ended >= 0
        if not identity and self.format.identify:
            identity = self.format.identify(head)
        first, end = self.first, len(self.observations)
        steps, epochs, ranks = (
            column[self.first : end] if column is not None else None
            for column in map(self.observations.column, ("step", "epoch", "rank"))
        )
        for at in restarts(steps, epochs, ranks) if steps else []:
            detail = f"the log begins again after observation {at}"
            self._add(first + at, dict(identity), {"kind": "truncated", "detail": detail}, {}, own)
        self._add(end, identity, self._ending(own), self.summary, own)

    def _ending(self, own: bool) -> Dict[str, str]:
        loss = self.observations.column("loss")
        loss_is_nan = loss is not None and len(loss) > self.first and isinf(loss[-1])
        end = self.format.end if self.format.closes else ()
        end, ended = ((_own.END,), self.own_ended) if own else (end, self.ended)
        ending = _ending.judge(self.events, self.printed, ended, bool(end), loss_is_nan)
        if ending["kind"] != "complete" or ended >= 0:
            return ending
        if end:
            sought = " or ".join(repr(words) for words in end)
            return {"kind": "truncated", "detail": f"no line with {sought}"}
        if self.cut:
            return {"kind": "truncated", "detail": f"the last line is cut: {self.cut[:200]}"}
        return ending

    def _add(
        self,
        end: int,
        identity: Dict[str, Any],
        ending: Dict[str, str],
        summary: Dict[str, Any],
        own: bool,
    ) -> None:
        if self.ranked:
            ai_rank.in_percent(summary)
        run: Dict[str, Any] = {
            "first": self.first,
            "count": end - self.first,
            "own_trainer": own,
            "identity": identity,
            "ending": ending,
            "summary": summary,
        }
        if "evaluations" in summary:
            stamp = re.search(STAMP, "".join(self.heads))
            run["started"] = moment(stamp.group()) if stamp else None
        if self.format.finish:
            self.format.finish(run, self.observations)
        self.runs.append(run)
        self.first = end


def _places(text: str) -> Tuple[int, int]:
    """Count the digits before and behind the point."""
    whole, _point, decimals = text.partition(".")
    return len(whole), len(decimals)
