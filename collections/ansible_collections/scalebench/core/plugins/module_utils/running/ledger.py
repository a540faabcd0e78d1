"""The records of a campaign as one run of bench.yml sees them."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

from ..records.cells import cell_key

__all__ = ["Ledger", "ran_in"]

Record = Mapping[str, Any]
_NEVER_RAN = ("skipped", "unavailable")


def ran_in(record: Record, session: str) -> bool:
    """Return whether a record was made by this run of bench.yml."""
    return bool(session) and record.get("session") == session


class Ledger:
    """What has ended, and how.

    :param campaign: its name.
    :param records: the run record of each repeat, by log.
    :param attempts: by log, the records of its earlier attempts, oldest first.
    :param session: the name of this run of bench.yml, empty before its first repeat. What failed
        in another one is tried afresh.
    """

    def __init__(
        self,
        campaign: str,
        records: Mapping[str, Record],
        attempts: Mapping[str, Sequence[Record]],
        session: str = "",
    ) -> None:
        self.campaign = campaign
        self.records = records
        self.session = session
        self._attempts = attempts

    def standing(self, log: str) -> Optional[Record]:
        """Return the record that settles a repeat for now, None where it is to run."""
        record = self.records.get(log)
        if record is None:
            return None
        settled = record["ending"] == "ok" or ran_in(record, self.session)
        # What a search has tried it need not try again.
        tried = record.get("kind") == "search" and record["ending"] == "out_of_memory"
        return record if settled or tried else None

    def attempt(self, log: str) -> int:
        """Return the number of the next attempt at a repeat, 1 for the first."""
        return 1 + len(self._attempts.get(log, ())) + (log in self.records)

    def history(self, log: str) -> List[str]:
        """Return the endings of a repeat in this session, oldest first."""
        every = [*self._attempts.get(log, ()), self.records[log]]
        return [record["ending"] for record in every if ran_in(record, self.session)]

    def endings(self, cell: Optional[Mapping[str, Any]] = None) -> List[str]:
        """Return the endings of this session's attempts, or those of one cell, oldest first."""
        earlier = (record for many in self._attempts.values() for record in many)
        own = [
            record
            for record in (*self.records.values(), *earlier)
            if ran_in(record, self.session)
            and record["ending"] not in _NEVER_RAN
            and (cell is None or cell_key(record["cell"]) == cell_key(cell))
        ]
        own.sort(key=lambda record: str(record.get("recorded")))
        return [record["ending"] for record in own]

    def out_of_memory(self) -> List[Mapping[str, Any]]:
        """Return the cells that ran out of memory in this session."""
        return [
            record["cell"]
            for record in self.records.values()
            if record["ending"] == "out_of_memory" and ran_in(record, self.session)
        ]
