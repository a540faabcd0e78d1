"""The identity of a cell: what tells one cell from another, over all campaigns and log trees."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Tuple

__all__ = ["GROUP_KEYS", "IDENTITY_KEYS", "CellKey", "cell_key"]


class CellKey(NamedTuple):
    """What identifies a cell; ``variant`` holds the factors that are not as usual.

    Its fields are texts, so that cells of a file and of a plan compare equal.
    """

    benchmark: str
    precision: str
    variant: str
    model: str
    topology: str

    @property
    def group(self) -> Tuple[str, ...]:
        """Return what cells have in common that differ in topology alone."""
        return self[:-1]


IDENTITY_KEYS: Tuple[str, ...] = CellKey._fields
GROUP_KEYS: Tuple[str, ...] = IDENTITY_KEYS[:-1]


def cell_key(cell: Mapping[str, Any]) -> CellKey:
    """Return the identity of a planned, recorded or measured cell, or of a path of a log."""
    return CellKey(*(str(cell.get(name)) for name in IDENTITY_KEYS))
