"""What is still to run of a campaign: missing repeats, retries, more repeats, what is given up."""

from __future__ import annotations

import itertools
import math
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

from ..planning import plan
from ..planning.schedule import sample_alone
from ..planning.variants import in_turns
from ..records.cells import cell_key, cell_path
from ..records.endings import never_ran
from ..records.factors import MAX
from ..records.plans import MOST_REPEATS as LONGEST_SERIES
from ..records.plans import Cell, PlannedRepeat
from ..records.runs import RunRecord
from ..stats.bisection import Bisection
from . import search
from .elapsed import Speeds, elapsed_throughput, round_of, seconds_under_load
from .policy import (
    MOST_REPEATS,
    Policy,
    check_adaptive,
    enough_repeats,
    retries_are_hopeless,
    should_retry,
)

__all__ = ["Ledger", "outstanding"]

# A cell whose last repeats all failed is not repeated for hours.
_FAILED_IN_A_ROW = 3


class Ledger:
    """The records of a campaign as one run of bench.yml sees them: what has ended, and how.

    :param campaign: its name.
    :param records: the run record of each repeat, by log.
    :param attempts: by log, the records of its earlier attempts, oldest first.
    :param session: the name of this run of bench.yml, empty before its first repeat. What failed
        in another session is tried again.
    """

    def __init__(
        self,
        campaign: str,
        records: Mapping[str, RunRecord],
        attempts: Mapping[str, Sequence[RunRecord]],
        session: str = "",
    ) -> None:
        self.campaign = campaign
        self.records = records
        self.session = session
        self._attempts = attempts

    def is_of_session(self, record: RunRecord) -> bool:
        """Return whether a record was made by this run of bench.yml."""
        return bool(self.session) and record.get("session") == self.session

    def standing(self, log: str) -> Optional[RunRecord]:
        """Return the record that settles a repeat for now, None where it is to run."""
        record = self.records.get(log)
        if record is None:
            return None
        settled = record["ending"] == "ok" or self.is_of_session(record)
        # What a search has tried it need not try again.
        tried = record.get("kind") == "search" and record["ending"] == "out_of_memory"
        return record if settled or tried else None

    def attempt(self, log: str) -> int:
        """Return the number of the next attempt at a repeat, 1 for the first."""
        return 1 + len(self._attempts.get(log, ())) + (log in self.records)

    def history(self, log: str) -> List[str]:
        """Return the endings of a repeat in this session, oldest first."""
        every = [*self._attempts.get(log, ()), self.records[log]]
        return [record["ending"] for record in every if self.is_of_session(record)]

    def endings(self, cell: Optional[Cell] = None) -> List[str]:
        """Return the endings of this session's attempts, or those of one cell, oldest first."""
        earlier = (record for records in self._attempts.values() for record in records)
        own = [
            record
            for record in (*self.records.values(), *earlier)
            if self.is_of_session(record)
            and (cell is None or cell_key(record["cell"]) == cell_key(cell))
        ]
        own.sort(key=lambda record: str(record.get("recorded")))
        return [record["ending"] for record in own]

    def out_of_memory(self) -> List[Cell]:
        """Return the cells that ran out of memory in this session."""
        return [
            record["cell"]
            for record in self.records.values()
            if record["ending"] == "out_of_memory" and self.is_of_session(record)
        ]


def outstanding(
    cells: Sequence[Cell], ledger: Ledger, policy: Policy, seed: str = ""
) -> Dict[str, Any]:
    """Return ``{"repeats", "given_up", "remarks"}``.

    ``repeats`` are to run, in order, each with ``kind`` (measured; search, for the largest batch;
    alone, one that was packed with others before) and ``why`` (empty for one that was never
    tried). ``given_up`` have an ``ending`` (skipped, unavailable) and a ``reason`` instead.
    ``remarks`` are sentences on what the results so far decided.

    Nothing but retries and the search come before all planned repeats have ended; then more
    repeats of cells that scatter; then packed ones alone.

    :param cells: the plan's cells; one that cannot run here has ``unavailable``, the reason.
    :param policy: what ``policy.policy`` returned.
    :param seed: of the plan, for the order of variants.
    :raises ValueError: adaptive repeats whose maximum is below the minimum.
    """
    if policy["half_width"]:
        most = policy["max_repeats"] or MOST_REPEATS
        for cell in cells:
            check_adaptive(cell["repeats"], most, policy["half_width"])
    return _Decision(ledger, policy, seed).over(cells)


class _Decision:
    def __init__(self, ledger: Ledger, policy: Policy, seed: str) -> None:
        self.ledger = ledger
        self.seed = seed
        self.policy = policy
        self.repeats: List[PlannedRepeat] = []
        self.given_up: List[PlannedRepeat] = []
        self.remarks: List[str] = []
        self.hopeless = retries_are_hopeless(ledger.endings(), policy["retry"])

    def over(self, planned: Sequence[Cell]) -> Dict[str, Any]:
        if self.hopeless:
            self.remarks.append(f"nothing is retried any more: {self.hopeless}")
        cells = [cell for cell in planned if cell["batch_size_per_device"] != MAX]
        for group in search.groups(planned):
            cells += self._searched(group)
        for repeat in plan.repeats(cells, self.seed):
            self._sort_in(repeat)
        if self.policy["bisect"]:
            self._bisect(cells, self.policy["bisect"])
        if not self.repeats and self.policy["half_width"]:
            for cell in cells:
                self._add_repeat(cell, self.policy["half_width"])
        if not self.repeats and self.policy["duration"]:
            self._add_rounds(cells, self.policy["duration"])
        if not self.repeats and self.policy["packing"] != "none":
            self._add_alone(cells)
        return {"repeats": self.repeats, "given_up": self.given_up, "remarks": self.remarks}

    def _sort_in(self, repeat: PlannedRepeat) -> None:
        """Put a repeat among those to run, those given up, or nowhere."""
        repeat = {"kind": "measured", **repeat}
        unavailable = repeat["cell"].get("unavailable")
        record = self.ledger.standing(repeat["log"])
        # What could not run then can now: a lost node is back.
        if record is None or (record["ending"] == "unavailable" and not unavailable):
            reason = search.skipped(repeat["cell"], self.ledger.out_of_memory())
            if unavailable:
                self.given_up.append({**repeat, "ending": "unavailable", "reason": unavailable})
            elif reason:
                self.given_up.append({**repeat, "ending": "skipped", "reason": reason})
            else:
                self.repeats.append({**repeat, "why": ""})
            return
        why = self._reason_to_rerun(repeat)
        if why and not unavailable:
            self.repeats.append({**repeat, "why": why})

    def _reason_to_rerun(self, repeat: PlannedRepeat) -> Optional[str]:
        """Return why a repeat that has ended runs again, None where it does not."""
        record, retry = self.ledger.records[repeat["log"]], self.policy["retry"]
        if not self.ledger.is_of_session(record) or self.hopeless:
            return None
        if retries_are_hopeless(self.ledger.endings(repeat["cell"]), retry):
            return None
        history = self.ledger.history(repeat["log"])
        if record["ending"] == "ok":
            disturbed = record.get("disturbances") and len(history) <= self.policy["requeue"]
            return "its measurement was disturbed" if disturbed else None
        runs_again, reason = should_retry(history, retry)
        return reason if runs_again else None

    def _searched(self, group: Sequence[Cell]) -> List[Cell]:
        """Return the group's cells with the batch size that the search gave; none before it did."""
        endings: Dict[int, str] = {}
        exhausted = self._exhausted(group)
        probe = search.next_probe(group, endings)
        while probe:
            if group[0].get("unavailable"):
                probe["cell"]["unavailable"] = group[0]["unavailable"]
            before = len(self.repeats) + len(self.given_up)
            self._sort_in(probe)
            if len(self.repeats) + len(self.given_up) > before:
                return []
            batch = probe["cell"]["batch_size_per_device"]
            ending = self.ledger.records[probe["log"]]["ending"]
            endings[batch] = "out_of_memory" if batch in exhausted else ending
            probe = search.next_probe(group, endings)
        try:
            batch = search.largest(endings)
        except ValueError as error:
            self.remarks.append(f"{cell_key(group[0]).label}: {error}")
            return []
        return [search.concrete(cell, batch) for cell in group]

    def _exhausted(self, group: Sequence[Cell]) -> Set[int]:
        """Return the batch sizes that ran out of memory, also after the search had taken them."""
        return {
            record["cell"]["batch_size_per_device"]
            for record in self.ledger.records.values()
            if record.get("kind") == "search"
            and record["ending"] == "out_of_memory"
            and search.belongs(record["cell"], group)
        }

    def _add_repeat(self, cell: Cell, half_width: float) -> None:
        """Ask for one more repeat of a cell whose interval is still too wide."""
        most = self.policy["max_repeats"] or MOST_REPEATS
        possible = plan.repeats([{**cell, "repeats": most}])
        records = [self.ledger.records.get(repeat["log"]) for repeat in possible]
        ended = [record for record in records if record]
        if all(never_ran(record["ending"]) for record in ended):
            return
        speeds = [
            record["facts"]["throughput"] if record["ending"] == "ok" and record["facts"] else None
            for record in ended
        ]
        verdict = enough_repeats(speeds, cell["repeats"], most, half_width)
        self.remarks.append(f"{cell_path(cell)}: {verdict['why']}")
        if not verdict["enough"]:
            # Not the one after the last: a record in between may have been lost.
            missing = next(repeat for repeat, record in zip(possible, records) if not record)
            self._sort_in({**missing, "why": verdict["why"]})

    def _bisect(self, cells: Sequence[Cell], most: int) -> None:
        """Ask for the next rounds of a bisection: those whose results decide how it goes on."""
        versions = {str(cell["treatment"]): cell for cell in cells}
        bisection = Bisection([*versions], most)
        good = versions[bisection.versions[0]]
        while bisection.batch:
            pairs = []
            for number in bisection.batch:
                both = [versions[bisection.candidate], good]
                planned = {
                    cell_path(cell): plan.planned_repeat(cell, number, f"{cell['name']}_{number}")
                    for cell in in_turns(both, self.seed, number)
                }
                for repeat in planned.values():
                    self._sort_in(repeat)
                ours, theirs = (self._speeds(planned[cell_path(cell)]["log"]) for cell in both)
                pairs.append(round_of(ours, theirs))
            if self.repeats:
                self.remarks.append(
                    f"bisecting: {bisection.candidate} against {bisection.versions[0]}, rounds"
                    f" {bisection.batch[0]} to {bisection.batch[-1]}"
                )
                return
            bisection.tell([pair for pair in pairs if pair])

    def _speeds(self, log: str) -> Speeds:
        record = self.ledger.records.get(log)
        if record is None or record["ending"] != "ok" or not record["facts"]:
            return None, None
        return record["facts"]["throughput"], elapsed_throughput(record["facts"])

    def _add_rounds(self, cells: Sequence[Cell], duration: float) -> None:
        """Ask for as many more rounds, a repeat of each cell, as the rest of the duration takes.

        All at once: each time that the plan is looked at, every record is read.
        """
        left = duration - seconds_under_load(self.ledger.records.values())
        ended_of = [(cell, self._ended(cell)) for cell in cells]
        going = [(cell, ended) for cell, ended in ended_of if _goes_on(ended)]
        per_round = sum(_mean_seconds(ended) for _, ended in going)
        words = f"-e duration: {max(left, 0):.0f} s of {duration:.0f} s are left"
        if left <= 0 or not per_round:
            self.remarks.append(words if going else f"{words}, and no cell can go on")
            return
        rounds = min(math.ceil(left / per_round), LONGEST_SERIES)
        self.remarks.append(f"{words}: {rounds} more repeat(s) of each cell")
        queues = {
            cell_path(cell): iter(self._more(cell, len(ended) + rounds)) for cell, ended in going
        }
        first = max(len(ended) for _, ended in going) + 1
        for number in range(first, first + rounds):
            for cell in in_turns([cell for cell, _ in going], self.seed, number):
                for repeat in itertools.islice(queues[cell_path(cell)], 1):
                    self._sort_in({**repeat, "why": words})

    def _ended(self, cell: Cell) -> List[RunRecord]:
        """Return the records of a cell's repeats in the order of their numbers."""
        own = [
            record
            for record in self.ledger.records.values()
            if record.get("kind", "measured") == "measured"
            and cell_key(record["cell"]) == cell_key(cell)
        ]
        return sorted(own, key=lambda record: record["repeat"])

    def _more(self, cell: Cell, most: int) -> List[PlannedRepeat]:
        """Return the repeats of a cell up to a number that have no record."""
        possible = plan.repeats([{**cell, "repeats": min(most, LONGEST_SERIES)}])
        return [repeat for repeat in possible if repeat["log"] not in self.ledger.records]

    def _add_alone(self, cells: Sequence[Cell]) -> None:
        """Ask for a sample of the packed repeats once more, each by itself."""
        packed = []
        for repeat in plan.repeats(cells):
            record = self.ledger.records.get(repeat["log"])
            if record and record["ending"] == "ok" and record.get("packed_with"):
                cell = record["cell"]
                seat = cell["node_names"], cell.get("node_devices")
                packed.append((plan.seated(repeat, *seat), seat))
        if not packed:
            return
        wave = {"repeats": [{"index": index} for index in range(len(packed))]}
        for index in sample_alone([wave, {"repeats": []}], self.ledger.campaign):
            repeat, seat = packed[index]
            base = f"{repeat['log'][: -len('.log')]}_alone"
            alone: PlannedRepeat = {
                **repeat,
                "name": f"{repeat['name']}_alone",
                "log": f"{base}.log",
                "kind": "alone",
            }
            self._sort_in(plan.seated(alone, *seat))


def _goes_on(ended: Sequence[RunRecord]) -> bool:
    """Return whether a cell runs at all, and has not failed several times in a row."""
    last = [record["ending"] for record in ended[-_FAILED_IN_A_ROW:]]
    return any(ending == "ok" for ending in last)


def _mean_seconds(ended: Sequence[RunRecord]) -> float:
    good = [record.get("seconds") or 0.0 for record in ended if record["ending"] == "ok"]
    return sum(good) / len(good)
