"""Verify and unpack the archive of a campaign, from any source.

Members are read here and not by tarfile, whose reader holds long names and sparse maps of any size
in memory; our archives have neither.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.evidence.archive import (
    CHECKSUMS,
    check_size,
    parse_checksums,
    split_member,
    written_by_report,
)
from ansible_collections.scalebench.core.plugins.module_utils.node import durable
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    LARGEST,
    open_regular,
    remove_partial,
)

__all__ = [
    "PIECE",
    "checksum_beside",
    "content_of",
    "file_sha256",
    "head",
    "unpack",
    "unpacked_before",
    "verify",
]

PIECE = 1 << 20  # bytes
# Room for 100,000 paths and their checksums, in bytes.
LONGEST_CHECKSUMS = 32 << 20
# A tar file is filled up with zeros to a block, of 10 KiB as a rule; a gigabyte of them is 1 MB.
_MOST_PADDING = 64 << 20  # bytes

# Header and content; the content must be read before the next member.
Member = tuple[tarfile.TarInfo, Iterator[bytes]]


@contextmanager
def _opened(archive: Path, sha256: str = "") -> Iterator[gzip.GzipFile]:
    """Open an archive.

    :param sha256: of the file whose signature was verified; empty for any.
    :raises ValueError: the archive is damaged or another one; the message names it.
    """
    try:
        with open_regular(archive) as raw, gzip.GzipFile("", "rb", fileobj=raw) as unzipped:
            if sha256 and hashlib.file_digest(raw, "sha256").hexdigest() != sha256:
                raise ValueError("it changed after its signature was verified")
            raw.seek(0)
            yield unzipped
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{archive} is damaged, or not an archive of a campaign: {error}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{archive}: {error}") from None


def _members(unzipped: gzip.GzipFile) -> Iterator[Member]:
    """Yield header and content of every member.

    :raises tarfile.HeaderError: a header is invalid.
    :raises ValueError: a content is truncated.
    """
    while any(block := unzipped.read(tarfile.BLOCKSIZE)):
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        yield header, _content(unzipped, header.size)
        unzipped.read(-header.size % tarfile.BLOCKSIZE)


def head(archive: Path, sha256: str = "") -> tuple[str, str]:
    """Return the campaign's name and the text of SHA256SUMS of an archive.

    :param sha256: as of :func:`verify`.
    :raises ValueError: the file is not an archive of a campaign.
    :raises OSError: it cannot be read.
    """
    with _opened(archive, sha256) as unzipped:
        return _head(_members(unzipped))


def content_of(archive: Path, path: str) -> bytes:
    """Return the content of a file of an archive that was verified.

    :raises FileNotFoundError: the archive has no such file.
    :raises ValueError: as :func:`head`.
    :raises OSError: as :func:`head`.
    """
    with _opened(archive) as unzipped:
        for header, content in _members(unzipped):
            if split_member(header.name)[1] == path:
                if header.size > LARGEST:
                    raise ValueError(f"{path} has more than {LARGEST >> 20} MiB")
                return b"".join(content)
            for _ in content:
                pass
    raise FileNotFoundError(path)


def _head(contents: Iterator[Member]) -> tuple[str, str]:
    """Return the campaign's name and the text of SHA256SUMS, which is the first member.

    :raises ValueError: the first member is a different file.
    """
    header, content = next(contents, (None, iter(())))
    if header is None:
        raise ValueError("it is empty")
    campaign = split_member(header.name)[0]
    if _path_of(header, campaign) != CHECKSUMS:
        raise ValueError(f"its first file is {header.name}, not {CHECKSUMS}")
    if header.size > LONGEST_CHECKSUMS:
        raise ValueError(f"{CHECKSUMS} is too large")
    return campaign, b"".join(content).decode("utf-8", "replace")


def _path_of(header: tarfile.TarInfo, campaign: str) -> str:
    """Return the path of a member below the campaign's folder.

    :raises ValueError: the member must not be unpacked: a link, a device, a file of another
        campaign or of none.
    """
    of, path = split_member(header.name)
    if of != campaign:
        raise ValueError(f"{header.name!r} is of another campaign than {campaign}")
    if header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or header.size < 0:
        raise ValueError(f"{header.name!r} is not a regular file")
    return path


def _content(unzipped: gzip.GzipFile, size: int) -> Iterator[bytes]:
    while size > 0:
        piece = unzipped.read(min(size, PIECE))
        if not piece:
            raise ValueError("it is cut off")
        size -= len(piece)
        yield piece


def verify(archive: Path, into: Path | None = None, sha256: str = "") -> None:
    """Compare every file with its checksum; write the files below ``into``, if given.

    :param into: a folder that does not exist yet.
    :param sha256: of the archive whose signature was verified; empty without one.
    :raises ValueError: the archive is invalid; with the first problem.
    :raises OSError: a file cannot be read or written.
    """
    room = shutil.disk_usage(_nearest_existing(into)).free if into else None
    with _opened(archive, sha256) as unzipped:
        _check_beside(archive)
        contents = _members(unzipped)
        campaign, text = _head(contents)
        sums = parse_checksums(text)
        left, size = dict(sums), 0
        if into:
            durable.make_folder(into.parent)
            into.mkdir()
            (into / CHECKSUMS).write_text(text, encoding="utf-8")
        for header, content in contents:
            path = _path_of(header, campaign)
            size += header.size
            check_size(len(sums) - len(left) + 1, size, room)
            if path not in left:
                raise ValueError(f"{path} is {'there twice' if path in sums else 'not listed'}")
            if _copied(content, into / path if into else None) != left.pop(path):
                raise ValueError(f"{path} differs from its checksum")
        if left:
            raise ValueError(f"{min(left)} is missing")
        # Read to the end, where gzip has the checksum of the whole.
        padding = 0
        while piece := unzipped.read(PIECE):
            padding += len(piece)
            if piece.strip(b"\0") or padding > _MOST_PADDING:
                raise ValueError("data follows its end")


def unpack(archive: Path, folder: Path, sha256: str = "") -> None:
    """Verify the archive and unpack it, atomically and durably.

    :param folder: does not exist, or is empty.
    :param sha256: as of :func:`verify`.
    :raises ValueError: as :func:`verify`.
    :raises OSError: as :func:`verify`.
    """
    remove_partial(folder)
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        verify(archive, part, sha256)
        for place, _, names in os.walk(part):
            for name in names:
                durable.sync(Path(place, name))
            durable.sync(Path(place))
        durable.replace(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def unpacked_before(archive: Path, text: str, folder: Path) -> bool:
    """Return whether the folder contains the unpacked archive.

    :param text: of the archive's SHA256SUMS.
    :raises ValueError: the folder contains something else, or a file there has changed.
    :raises OSError: a file cannot be read.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    kept = folder / CHECKSUMS
    if not kept.is_file() or kept.read_text(encoding="utf-8", errors="replace") != text:
        raise ValueError(
            f"{folder} contains something other than {archive}: give -e output_dir=DIR"
        )
    sums = parse_checksums(text)
    for file in _files(folder):
        path = file.relative_to(folder).as_posix()
        if path not in sums and path != CHECKSUMS and not written_by_report(path):
            raise ValueError(f"{file} is not in {archive}: remove {folder} to unpack it anew")
    for path, expected in sums.items():
        file = folder / path
        if written_by_report(path):
            continue
        if not file.is_file() or file_sha256(file) != expected:
            raise ValueError(f"{file} differs from {archive}: remove {folder} to unpack it anew")
    return True


def _files(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder that is not a folder, links to folders among it."""
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        yield from (Path(place, name) for name in sorted([*names, *links]))


def file_sha256(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal.

    :raises ValueError: it is no regular file.
    :raises OSError: it cannot be read.
    """
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copied(content: Iterator[bytes], to: Path | None) -> str:
    """Return the SHA-256 of a content; write it to ``to``, if given.

    :raises ValueError: another file of the archive is there, or is a folder of the path.
    """
    digest = hashlib.sha256()
    if to is None:
        for piece in content:
            digest.update(piece)
        return digest.hexdigest()
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        file = to.open("xb")
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"{to.name} and another file have the same place") from None
    with file:
        for piece in content:
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def checksum_beside(archive: Path) -> str:
    """Return the line of the checksum file of an archive.

    :raises ValueError: it is no regular file.
    :raises OSError: it cannot be read, or is not there.
    """
    with open_regular(Path(f"{archive}.sha256")) as file:
        return file.read(PIECE).decode("utf-8", "replace")


def _check_beside(archive: Path) -> None:
    """Compare the archive with its checksum file, if there is one.

    :raises ValueError: they differ.
    """
    try:
        expected = checksum_beside(archive).split()
    except FileNotFoundError:
        return
    except ValueError as error:
        raise ValueError(f"{archive.name}.sha256 beside it: {error}") from None
    if expected[:1] != [file_sha256(archive)]:
        raise ValueError(f"it differs from its checksum in {archive.name}.sha256")


def _nearest_existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
