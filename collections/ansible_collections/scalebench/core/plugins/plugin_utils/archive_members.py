"""Reads the archive of a campaign member by member, and refuses what it must not hold.

tarfile's own reader is not asked: it would hold long names and sparse maps of any size in memory,
and an archive of ours has neither.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.evidence.archive import (
    CHECKSUMS,
    split_member,
)

__all__ = ["PIECE", "Member", "head", "head_of", "members", "opened", "path_of"]

PIECE = 1 << 20
# 100 000 paths and their checksums fit.
LONGEST_CHECKSUMS = 32 << 20

# Header and content; the content is to be read before the next member is asked for.
Member = tuple[tarfile.TarInfo, Iterator[bytes]]


@contextmanager
def opened(archive: Path) -> Iterator[gzip.GzipFile]:
    """Open an archive; every way in which one can be broken becomes a ValueError that names it."""
    try:
        with gzip.GzipFile(archive, "rb") as unzipped:
            yield unzipped
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{archive}: damaged, or no archive of a campaign: {error}") from None
    except ValueError as error:
        raise ValueError(f"{archive}: {error}") from None


def members(unzipped: gzip.GzipFile) -> Iterator[Member]:
    """Yield header and content of every member.

    :raises tarfile.HeaderError: what stands where a header must be is none.
    :raises ValueError: a content is cut off.
    """
    while any(block := unzipped.read(tarfile.BLOCKSIZE)):
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        yield header, _content(unzipped, header.size)
        unzipped.read(-header.size % tarfile.BLOCKSIZE)


def head(archive: Path) -> tuple[str, str]:
    """Return what ``head_of`` returns of the archive at a path.

    :raises ValueError: it is no archive of a campaign.
    :raises OSError: it cannot be read.
    """
    with opened(archive) as unzipped:
        return head_of(members(unzipped))


def head_of(found: Iterator[Member]) -> tuple[str, str]:
    """Return the campaign's name and the text of SHA256SUMS, which is the first member.

    :raises ValueError: the first member is another.
    """
    header, content = next(found, (None, iter(())))
    if header is None:
        raise ValueError("it is empty")
    campaign = split_member(header.name)[0]
    if path_of(header, campaign) != CHECKSUMS:
        raise ValueError(f"its first file is {header.name}, not {CHECKSUMS}")
    if header.size > LONGEST_CHECKSUMS:
        raise ValueError(f"{CHECKSUMS} is of absurd size")
    return campaign, b"".join(content).decode("utf-8", "replace")


def path_of(header: tarfile.TarInfo, campaign: str) -> str:
    """Return the path below the campaign's folder of a member that may be unpacked.

    :raises ValueError: it may not: it is a link, a device, of another campaign, or no campaign's.
    """
    of, path = split_member(header.name)
    if of != campaign:
        raise ValueError(f"{header.name!r} is of another campaign than {campaign}")
    if header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or header.size < 0:
        raise ValueError(f"{header.name!r} is no regular file")
    return path


def _content(unzipped: gzip.GzipFile, size: int) -> Iterator[bytes]:
    while size > 0:
        piece = unzipped.read(min(size, PIECE))
        if not piece:
            raise ValueError("it is cut off")
        size -= len(piece)
        yield piece
