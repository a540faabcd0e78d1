"""The names of campaigns, and what distinguishes cells over all campaigns and log trees."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, NamedTuple, Tuple

from .factors import factor_values

__all__ = [
    "CAMPAIGN_NAME",
    "GROUP_KEYS",
    "IDENTITY_KEYS",
    "CellKey",
    "cell_key",
    "cell_path",
    "check_campaign_name",
    "log_place",
    "task_values",
]


# Names of files have 255 bytes, and an archive's ends in .tar.gz.sha256.
CAMPAIGN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")


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

    @property
    def label(self) -> str:
        """Return the benchmark and its precision, as a heading names them."""
        return f"{self.benchmark} {self.precision}"

    @property
    def short(self) -> str:
        """Return what a line calls the cell: all but its model."""
        return f"{self.label} {self.variant} {self.topology}"

    @property
    def labels(self) -> Dict[str, str]:
        """Return the parts by name, as the files of a report state them."""
        return dict(self._asdict())


IDENTITY_KEYS: Tuple[str, ...] = CellKey._fields
GROUP_KEYS: Tuple[str, ...] = IDENTITY_KEYS[:-1]


def cell_key(cell: Mapping[str, Any]) -> CellKey:
    """Return the identity of a planned, recorded or measured cell, or of a path of a log."""
    return CellKey(*(str(cell.get(name)) for name in IDENTITY_KEYS))


def cell_path(cell: Mapping[str, Any]) -> str:
    """Return the path of a planned cell's logs without the repeat, as messages name the cell."""
    return f"{cell['directory']}/{cell['name']}"


def log_place(cell: Mapping[str, Any]) -> Dict[str, str]:
    """Return the directory and the name of a planned cell's logs, the repeat left out."""
    return {
        "directory": "{benchmark}/{variant}/{topology}".format(**cell),
        "name": "{model}_b{batch_size_per_device}_{precision}".format(**cell),
    }


def task_values(cell: Mapping[str, Any]) -> Dict[str, Any]:
    """Return what a cell runs and where: its program, all factors, topology and device."""
    names = ("benchmark", "recipe", "framework", "model", "topology", "device")
    return {**{name: cell.get(name) for name in names}, **factor_values(cell)}


def check_campaign_name(campaign: str) -> None:
    """Raise an error for what cannot be a campaign's name.

    :raises ValueError: named as the option of playbooks.
    """
    if not CAMPAIGN_NAME.fullmatch(campaign):
        raise ValueError(
            f"-e campaign={campaign:.80}: a campaign's name is a folder's name: up to 200 letters,"
            " digits and ._+-, the first a letter or digit"
        )
