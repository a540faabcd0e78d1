"""A campaign's folder to archive, and archives that no campaign made."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

FILES = {
    "plan.json": '{"campaign": "mine", "cells": []}\n',
    "results.json": "{}\n",
    "logs/pytorch/bz4/1n1g/r50_b4_fp32_1.log": "iteration 1 throughput 24.10 images/s\n" * 200,
    "logs/pytorch/bz4/1n1g/r50_b4_fp32_1.run.json": '{"ending": "ok"}\n',
}


def write_campaign(folder: Path, **changes: str) -> Path:
    """Write a campaign; ``changes`` are texts by path, over those of ``FILES``."""
    for path, text in {**FILES, **changes}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def member(name: str, data: bytes = b"", **of_header: object) -> tuple[tarfile.TarInfo, bytes]:
    """Return a member of an archive; ``of_header`` are fields of its header."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in of_header.items():
        setattr(info, field, value)
    return info, data


def sums(files: dict[str, bytes]) -> tuple[tarfile.TarInfo, bytes]:
    """Return the SHA256SUMS of files by path."""
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items()]
    return member("mine/SHA256SUMS", "".join(lines).encode())


def write_archive_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    """Write an archive that holds exactly these members."""
    with gzip.open(path, "wb", 1) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return path
