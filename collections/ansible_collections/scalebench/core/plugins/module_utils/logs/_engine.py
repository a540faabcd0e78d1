"""Reads one log in one format: one pass over the text, block by block, in constant memory."""

from __future__ import annotations

import re
from math import isinf

from . import _ending, ai_rank, scalebench
from ._columns import Observations
from ._format import STAMP
from ._lines import RANK, Lines, interval, restarts
from ._stamp import moment
from ._text import BLOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Mapping, Tuple

    from ._format import Format

__all__ = ["Engine"]

HEAD = 1 << 18


class Engine:
    """The state of one reading: call ``feed`` with blocks of clean text, then ``reading``."""

    def __init__(self, format_: Format, limit: int, known: Mapping[str, Any]) -> None:
        self.format = format_
        self.known = known
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
        """End the log and return the reading; identity, ending and summary are of the last run.

        :raises ValueError: the log contains nothing of the format, not even a start.
        """
        self._close()
        run = self.runs[-1]
        if not (len(self.observations) or self.begun or any(read["summary"] for read in self.runs)):
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
        """Return the block without the first line of an incomplete two-line observation.

        Its second line follows at once, so that more than a block is not held for it.
        """
        block = self.held + block
        self.held = ""
        first, second = self.format.needles
        at = block.rfind(first)
        start = block.rfind("\n", 0, at) + 1
        if not last and at > block.rfind(second) and len(block) - start <= BLOCK:
            block, self.held = block[:start], block[start:]
        return block

    def _whole(self, block: str) -> str:
        """Return the block without an unterminated last line, if its last number may be truncated.

        A killed writer stops anywhere, but ``lookup('file')`` also strips the last line end. A
        number at the end of the log counts as complete if the same field ends the line before it,
        with as many decimals, or with no more digits where there are no decimals.
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
        """Split a block at the starts of runs: yield (a run starts here, text)."""
        starts = set()
        for words in (*self.format.start, scalebench.START):
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
        """Read the other lines: settings, totals, error messages, the end."""
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
        if scalebench.WAITS in others:
            scalebench.note_waits(others, self.summary)
        if scalebench.END in others:
            scalebench.note(others, self.summary)
            self.own_ended = self.position + text.rfind(scalebench.END)
        for kind, words, line in _ending.scan(others):
            at = self.position + text.rfind(words)
            if kind not in self.events or self.events[kind][0] < at:
                self.events[kind] = (at, line)

    def _close(self) -> None:
        """End the current run; where its steps start again, it is split into several runs."""
        head = "".join(self.heads)
        identity = scalebench.identify(head)
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
        end, ended = ((scalebench.END,), self.own_ended) if own else (end, self.ended)
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
            "assumed": _assumed(identity, self.known),
            "steps_per_line": self._steps_per_line(identity, end) if self.format.spans else 1,
            "ending": ending,
            "summary": summary,
        }
        if "evaluations" in summary:
            stamp = re.search(STAMP, "".join(self.heads))
            run["started"] = moment(stamp.group()) if stamp else None
        if self.format.finish:
            self.format.finish(run, self.observations)
            # What a format derives of the whole run counts as stated.
            run["assumed"] = _assumed(run["identity"], self.known)
        self.runs.append(run)
        self.first = end

    def _steps_per_line(self, identity: Mapping[str, Any], end: int) -> int:
        """Return the steps that a line of the current run stands for: as stated, or as printed."""
        if identity.get("steps_per_line"):
            return int(identity["steps_per_line"])
        steps, ranks = (
            column[self.first : end] if column is not None else None
            for column in map(self.observations.column, ("step", "rank"))
        )
        return interval(steps, ranks) if steps else 1


def _assumed(identity: Mapping[str, Any], known: Mapping[str, Any]) -> Dict[str, Any]:
    """Return an identity with the sizes that are known and that it does not state.

    A size that is no whole number is not known: a batch size that is still searched is ``max``.
    """
    sizes = ("batch_size_per_device", "units_per_sample", "world_size", "nodes")
    assumed = {key: known[key] for key in sizes if isinstance(known.get(key), int)}
    assumed.update(identity)
    batch = assumed.get("batch_size_per_device")
    if assumed.get("world_size") and isinstance(batch, int):
        of_all = assumed["world_size"] * batch
        assumed.setdefault("global_batch_size", of_all)
    return assumed


def _places(text: str) -> Tuple[int, int]:
    """Return the numbers of digits before and after the decimal point."""
    whole, _point, decimals = text.partition(".")
    return len(whole), len(decimals)
