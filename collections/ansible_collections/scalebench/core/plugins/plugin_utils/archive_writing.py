"""Writes the archive of a campaign piece by piece: the same campaign gives the same bytes."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import (
    Redactor,
    Rule,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_survey import (
    PIECE,
    Packed,
    redacted,
)

__all__ = ["write_archive"]

# 1980-01-01, the first day that every archive format knows; tar warns of 1970.
TIME = 315532800


def write_archive(
    archive: Path,
    campaign: str,
    folder: Path,
    texts: dict[str, str],
    files: Sequence[Packed],
    rules: Sequence[Rule],
) -> None:
    """Write the archive whole or not at all: first ``texts`` by path, then the files.

    :raises ValueError: a file is not what ``survey`` saw: something writes to the campaign; or a
        path or a file is too long for the plain tar format (255 bytes, 8 GiB).
    :raises OSError: something cannot be read or written.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    _remove_left(archive)
    part = archive.with_name(f".{archive.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as raw:
            # Neither name nor time of the file go into it.
            with (
                gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
                tarfile.open(
                    fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT, copybufsize=PIECE
                ) as tar,
            ):
                for path, text in texts.items():
                    data = text.encode("utf-8")
                    tar.addfile(_member(campaign, path, len(data)), io.BytesIO(data))
                for file in files:
                    _add(tar, campaign, folder, file, rules)
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(archive)
    finally:
        part.unlink(missing_ok=True)


def _remove_left(archive: Path) -> None:
    """Remove what processes left that were killed while they wrote this archive."""
    for part in archive.parent.glob(f".{archive.name}.*.part"):
        try:
            os.kill(int(part.suffixes[-2][1:]), 0)
        except ProcessLookupError:
            part.unlink(missing_ok=True)
        except PermissionError:
            # Somebody else's process, so not one that can have written here.
            continue


def _add(
    tar: tarfile.TarFile, campaign: str, folder: Path, file: Packed, rules: Sequence[Rule]
) -> None:
    content = _Content(redacted(folder, file.path, Redactor(rules)))
    try:
        tar.addfile(_member(campaign, file.path, file.size), content)
        same = content.sha256.hexdigest() == file.sha256 and not content.read(1)
    except OSError as error:
        if error.errno is not None:
            raise
        same = False
    if not same:
        raise ValueError(f"{folder / file.path}: it changes while it is archived: a run goes on")


def _member(campaign: str, path: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(f"{campaign}/{path}")
    member.size, member.mtime, member.mode = size, TIME, 0o644
    return member


class _Content:
    """Pieces as the file that tarfile wants to read, with the checksum of what was read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.sha256 = hashlib.sha256()
        self._pieces = pieces
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer at the end."""
        while len(self._rest) < size:
            piece = next(self._pieces, b"")
            if not piece:
                break
            self._rest += piece
        taken, self._rest = self._rest[:size], self._rest[size:]
        self.sha256.update(taken)
        return taken
