"""What an archive of a campaign from elsewhere may be: its checksums, its paths, its size."""

from __future__ import annotations

import re
from typing import Dict, Optional, Tuple

from .archive import CHECKSUMS, MANIFEST, belongs

__all__ = ["check_size", "parse_checksums", "split_member", "written_by_report"]

# What claims more is no campaign's; the largest of ours are far below.
MOST_FILES = 100_000
MOST_BYTES = 64 * 2**30

_CAMPAIGN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_SUM = re.compile(r"([0-9a-f]{64})  (.+)")


def parse_checksums(text: str) -> Dict[str, str]:
    """Return SHA-256 by path.

    :raises ValueError: a line is none of sha256sum's, or a path stands there twice.
    """
    sums: Dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = _SUM.fullmatch(line)
        if not match:
            raise ValueError(f"{CHECKSUMS}: line {number} is no checksum: {line[:80]!r}")
        if match[2] in sums:
            raise ValueError(f"{CHECKSUMS}: {match[2]} is there twice")
        sums[match[2]] = match[1]
    return sums


def written_by_report(path: str) -> bool:
    """Return whether a report writes this file anew, so that it may differ from the archive's."""
    return "/" not in path and path not in ("plan.json", MANIFEST)


def split_member(name: str) -> Tuple[str, str]:
    """Return campaign and path of a member of an archive.

    :raises ValueError: the name leads out of the campaign's folder, or is no file of a campaign.
    """
    campaign, slash, path = name.partition("/")
    if not slash or not _CAMPAIGN.fullmatch(campaign):
        raise ValueError(f"{name!r} is no path below a campaign's folder")
    if path not in (CHECKSUMS, MANIFEST) and not belongs(path):
        raise ValueError(f"{name!r} is no file of a campaign")
    return campaign, path


def check_size(number: int, size: int, room: Optional[int] = None) -> None:
    """Refuse an archive that holds more than a campaign can.

    :param number: of files so far.
    :param size: of them together, in bytes.
    :param room: what is free where they shall lie, in bytes.
    :raises ValueError: too many, too large, or no room.
    """
    if number > MOST_FILES:
        raise ValueError(f"it holds more than {MOST_FILES} files")
    if size > MOST_BYTES:
        raise ValueError(f"it holds more than {MOST_BYTES >> 30} GiB")
    if room is not None and size > room:
        raise ValueError(f"it holds more than the {room >> 20} MiB that are free")
