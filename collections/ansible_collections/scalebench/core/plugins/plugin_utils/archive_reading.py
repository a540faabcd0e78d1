"""Verifies and unpacks the archive of a campaign, which may come from anywhere."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.evidence.archive import (
    CHECKSUMS,
    check_size,
    parse_checksums,
    written_by_report,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_members import (
    PIECE,
    head_of,
    members,
    opened,
    path_of,
)

__all__ = ["file_sha256", "unpack", "unpacked_before", "verify"]


def verify(archive: Path, into: Path | None = None) -> None:
    """Hold every file against its checksum; write the files below ``into`` where it is given.

    :param into: a folder that is not there yet.
    :raises ValueError: the first thing that is wrong.
    :raises OSError: something cannot be read or written.
    """
    _check_beside(archive)
    room = shutil.disk_usage(_there(into)).free if into else None
    with opened(archive) as unzipped:
        found = members(unzipped)
        campaign, text = head_of(found)
        sums = parse_checksums(text)
        left, size = dict(sums), 0
        if into:
            into.mkdir(parents=True)
            (into / CHECKSUMS).write_text(text, encoding="utf-8")
        for header, content in found:
            path = path_of(header, campaign)
            size += header.size
            check_size(len(sums) - len(left) + 1, size, room)
            if path not in left:
                raise ValueError(f"{path} is {'there twice' if path in sums else 'not listed'}")
            if _copied(content, into / path if into else None) != left.pop(path):
                raise ValueError(f"{path} differs from its checksum")
        if left:
            raise ValueError(f"{min(left)} is missing")
        # To the end: only there is the checksum of the whole.
        if unzipped.read(PIECE).strip(b"\0"):
            raise ValueError("something follows its end")


def unpack(archive: Path, folder: Path) -> None:
    """Verify the archive and unpack it, whole or not at all.

    :param folder: not there, or empty.
    :raises ValueError: as ``verify``.
    :raises OSError: as ``verify``.
    """
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        verify(archive, part)
        part.replace(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def unpacked_before(archive: Path, text: str, folder: Path) -> bool:
    """Return whether the archive lies in the folder already.

    :param text: of the archive's SHA256SUMS.
    :raises ValueError: the folder holds something else, or a file there has changed since.
    :raises OSError: a file cannot be read.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    kept = folder / CHECKSUMS
    if not kept.is_file() or kept.read_text(encoding="utf-8", errors="replace") != text:
        raise ValueError(f"{folder} holds something else than {archive}: give -e output_dir=DIR")
    for path, expected in parse_checksums(text).items():
        file = folder / path
        if written_by_report(path):
            continue
        if not file.is_file() or file_sha256(file) != expected:
            raise ValueError(f"{file} differs from {archive}: remove {folder} to unpack it anew")
    return True


def file_sha256(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal.

    :raises OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copied(content: Iterator[bytes], to: Path | None) -> str:
    """Return the SHA-256 of a content; write it where ``to`` is given."""
    digest = hashlib.sha256()
    if to is None:
        for piece in content:
            digest.update(piece)
        return digest.hexdigest()
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("xb") as file:
        for piece in content:
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def _check_beside(archive: Path) -> None:
    """Hold the archive against the checksum that was sent with it, where there is one."""
    try:
        sent = Path(f"{archive}.sha256").read_text(encoding="utf-8", errors="replace").split()
    except FileNotFoundError:
        return
    if sent[:1] != [file_sha256(archive)]:
        raise ValueError(f"{archive} differs from its checksum in {archive.name}.sha256")


def _there(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
