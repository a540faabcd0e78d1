"""Finds the campaign's own files, and how each of them goes into the archive."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ansible_collections.scalebench.core.plugins.module_utils.evidence.archive import (
    belongs,
    is_log,
    is_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import (
    Redactor,
    Rule,
)

__all__ = ["PIECE", "Packed", "redacted", "survey"]

PIECE = 1 << 20
LONGEST_LINE = 16 << 20


@dataclass(frozen=True)
class Packed:
    """A file as it lies in the archive; size in bytes, findings as ``Redactor`` has them."""

    path: str
    size: int
    sha256: str
    findings: dict[str, tuple[int, int]]


def survey(folder: Path, rules: Sequence[Rule]) -> tuple[list[Packed], list[str]]:
    """Return the campaign's own files, in the order of their paths, and the paths of all others.

    :param rules: as ``secret_patterns.patterns`` returns them.
    :raises ValueError: a line is too long to be searched.
    :raises OSError: a file cannot be read.
    """
    own, others = [], []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            file = Path(root, name)
            path = file.relative_to(folder).as_posix()
            # A link may lead anywhere, a pipe has no end.
            if belongs(path) and stat.S_ISREG(file.lstat().st_mode):
                own.append(path)
            else:
                others.append(path)
    return [_measured(folder, path, rules) for path in sorted(own)], sorted(others)


def _measured(folder: Path, path: str, rules: Sequence[Rule]) -> Packed:
    redactor, digest, size = Redactor(rules), hashlib.sha256(), 0
    for piece in redacted(folder, path, redactor):
        digest.update(piece)
        size += len(piece)
    return Packed(path, size, digest.hexdigest(), redactor.findings)


def redacted(folder: Path, path: str, redactor: Redactor) -> Iterator[bytes]:
    """Yield a file as it goes into the archive; only what a program printed is changed."""
    with (folder / path).open("rb") as file:
        if not is_text(path):
            yield from iter(lambda: file.read(PIECE), b"")
        elif is_log(path):
            yield from redactor.redact(_whole_lines(file, path))
        else:
            for piece in _whole_lines(file, path):
                # For the findings alone: with one, there will be no archive.
                list(redactor.redact([piece]))
                yield piece


def _whole_lines(file: BinaryIO, path: str) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        if not piece.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE)
            if len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
                raise ValueError(
                    f"{path}: a line of more than {LONGEST_LINE >> 20} MiB cannot be searched for"
                    " secrets: remove the file, or break its lines"
                )
            piece += rest
        yield piece
