"""What is still to run of a campaign: what is missing, retries, more repeats, what is given up."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

from ..planning import plan
from ..planning.schedule_sample import sample_alone
from ..records.cells import cell_path
from ..records.factors import MAX
from . import adaptive, frontier, retry, search
from .ledger import Ledger, ran_in

__all__ = ["outstanding"]

Cell = Mapping[str, Any]
Repeat = Dict[str, Any]


def outstanding(cells: Sequence[Cell], ledger: Ledger, policy: Mapping[str, Any]) -> Dict[str, Any]:
    """Return ``{"repeats", "given_up", "remarks"}``.

    ``repeats`` are to run, in order, each with ``kind`` (measured; search, for the largest batch;
    alone, one that was packed with others before) and ``why`` (empty for one that was never
    tried). ``given_up`` have an ``ending`` (skipped, unavailable) and a ``reason`` instead.
    ``remarks`` say in words what the results so far decided.

    Nothing but retries and the search come before all planned repeats have ended; then more
    repeats of cells that scatter; then packed ones alone.

    :param cells: the plan's cells; one that cannot run here has ``unavailable``, the reason.
    :param policy: what ``policy.policy`` returned.
    :raises ValueError: adaptive repeats whose maximum is below the minimum.
    """
    if policy["half_width"]:
        for cell in cells:
            adaptive.check_rule(cell["repeats"], policy["max_repeats"], policy["half_width"])
    return _Decision(ledger, policy).over(cells)


class _Decision:
    def __init__(self, ledger: Ledger, policy: Mapping[str, Any]) -> None:
        self.ledger = ledger
        self.policy = policy
        self.repeats: List[Repeat] = []
        self.given_up: List[Repeat] = []
        self.remarks: List[str] = []
        self.hopeless = retry.hopeless(ledger.endings(), policy["retry"])

    def over(self, planned: Sequence[Cell]) -> Dict[str, Any]:
        if self.hopeless:
            self.remarks.append(f"nothing is retried any more: {self.hopeless}")
        cells = [cell for cell in planned if cell["batch_size_per_device"] != MAX]
        for group in search.groups(planned):
            cells += self._found(group)
        for repeat in plan.repeats(cells):
            self._sort_in(repeat)
        if not self.repeats and self.policy["half_width"]:
            for cell in cells:
                self._one_more(cell)
        if not self.repeats and self.policy["packing"] != "none":
            self._alone(cells)
        return {"repeats": self.repeats, "given_up": self.given_up, "remarks": self.remarks}

    def _sort_in(self, repeat: Repeat) -> None:
        """Put a repeat among those to run, those given up, or nowhere."""
        repeat = {"kind": "measured", **repeat}
        if self.ledger.standing(repeat["log"]) is None:
            unavailable = repeat["cell"].get("unavailable")
            reason = frontier.skipped(repeat["cell"], self.ledger.out_of_memory())
            if unavailable:
                self.given_up.append({**repeat, "ending": "unavailable", "reason": unavailable})
            elif reason:
                self.given_up.append({**repeat, "ending": "skipped", "reason": reason})
            else:
                self.repeats.append({**repeat, "why": ""})
            return
        why = self._again(repeat)
        if why:
            self.repeats.append({**repeat, "why": why})

    def _again(self, repeat: Repeat) -> Optional[str]:
        """Return why a repeat that has ended runs again, None where it does not."""
        record = self.ledger.records[repeat["log"]]
        if not ran_in(record, self.ledger.session) or self.hopeless:
            return None
        if retry.hopeless(self.ledger.endings(repeat["cell"]), self.policy["retry"]):
            return None
        history = self.ledger.history(repeat["log"])
        if record["ending"] == "ok":
            disturbed = record.get("disturbances") and len(history) <= self.policy["requeue"]
            return "its measurement was disturbed" if disturbed else None
        again, reason = retry.again(history, self.policy["retry"])
        return reason if again else None

    def _found(self, group: Sequence[Cell]) -> List[Cell]:
        """Return the group's cells with the batch size that the search found, none before."""
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
            self.remarks.append(f"{group[0]['benchmark']} {group[0]['precision']}: {error}")
            return []
        return [search.concrete(cell, batch) for cell in group]

    def _exhausted(self, group: Sequence[Cell]) -> Set[int]:
        """Return the batch sizes that ran out of memory, be it after the search had found them."""
        return {
            record["cell"]["batch_size_per_device"]
            for record in self.ledger.records.values()
            if record.get("kind") == "search"
            and record["ending"] == "out_of_memory"
            and search.belongs(record["cell"], group)
        }

    def _one_more(self, cell: Cell) -> None:
        """Ask for one more repeat of a cell whose interval is still too wide."""
        most = self.policy["max_repeats"]
        made = plan.repeats([{**cell, "repeats": most}])
        records = [self.ledger.records.get(repeat["log"]) for repeat in made]
        ended = [record for record in records if record]
        if all(record["ending"] in ("skipped", "unavailable") for record in ended):
            return
        speeds = [
            record["facts"]["throughput"] if record["ending"] == "ok" else None for record in ended
        ]
        verdict = adaptive.enough(speeds, cell["repeats"], most, self.policy["half_width"])
        self.remarks.append(f"{cell_path(cell)}: {verdict['why']}")
        if not verdict["enough"]:
            # Not the one after the last: a record in between may have been lost.
            missing = next(repeat for repeat, record in zip(made, records) if not record)
            self._sort_in({**missing, "why": verdict["why"]})

    def _alone(self, cells: Sequence[Cell]) -> None:
        """Ask for a sample of the packed repeats once more, with nobody beside them."""
        made = plan.repeats(cells)
        packed = []
        for repeat in made:
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
            alone = {
                **repeat,
                "name": f"{repeat['name']}_alone",
                "log": f"{base}.log",
                "kind": "alone",
            }
            self._sort_in(plan.seated(alone, *seat))
