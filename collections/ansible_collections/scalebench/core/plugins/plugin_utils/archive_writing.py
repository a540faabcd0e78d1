"""Pack a campaign into one archive with checksums; the same campaign gives the same bytes.

The files are read twice: ``survey`` finds secrets and computes checksums, then the archive is
written piece by piece.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ansible_collections.scalebench.core.plugins.module_utils.evidence.archive import (
    CHECKSUMS,
    MANIFEST,
    belongs,
    beside_text,
    checksums_text,
    is_log,
    is_text,
    manifest_text,
    refusal,
)
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import (
    Redactor,
    shown,
)
from ansible_collections.scalebench.core.plugins.module_utils.evidence.secret_forms import (
    Rule,
    patterns,
)
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.node import durable
from ansible_collections.scalebench.core.plugins.module_utils.node.claim import (
    FILES as CLAIM_FILES,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_reading import (
    PIECE,
    checksum_beside,
    file_sha256,
    head,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_signing import (
    check_key,
    sign,
    signature_of,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_files import check_logs
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    LARGEST,
    read_json,
    remove_partial,
    write_texts,
)

__all__ = ["archive", "survey"]

LONGEST_LINE = 16 << 20  # bytes
# 1980-01-01, the earliest date of all archive formats; tar warns about 1970.
TIME = 315532800


def archive(
    folder: Path, path: Path, check_mode: bool, with_diff: bool, key: str = ""
) -> dict[str, Any]:
    """Archive the campaign in ``folder`` at ``path``, unless ``path`` is that archive already.

    The checksum of the archive is written to ``<path>.sha256``. With a key its signature is
    written to ``<path>.sig``, and has a checksum too.

    :param key: of ``archive_signing.sign``; empty for none.
    :returns: ``changed``, ``path``, ``files`` and ``redactions`` (numbers), ``left_out`` (paths
        that do not belong to the campaign), ``diff`` of the checksums.
    :raises ValueError: not a campaign, one with secrets in files other than logs, or a key that
        cannot sign.
    :raises OSError: a file cannot be read or written.
    """
    if not (folder / "plan.json").is_file():
        raise ValueError(f"no campaign {folder.name} in {folder.parent}: there is no plan.json")
    check_logs(folder)
    if key:
        check_key(key)
    rules = patterns({os.fsdecode(name): value for name, value in os.environb.items()})
    files, left_out = survey(folder, rules)
    refused = refusal({file.path: file.findings for file in files if not is_log(file.path)})
    if refused:
        raise ValueError(f"{folder}: {refused}")
    findings = {file.path: file.findings for file in files if file.findings}
    manifest = manifest_text(folder.name, findings)
    sums = {file.path: file.sha256 for file in files}
    sums[MANIFEST] = _text_sha256(manifest)
    texts = {CHECKSUMS: checksums_text(sums), MANIFEST: manifest}
    before = _before(path)
    changed = before != texts[CHECKSUMS]
    if changed and not check_mode:
        # Nobody may take it for the signature of the new archive.
        signature_of(path).unlink(missing_ok=True)
        _write_archive(path, folder.name, folder, texts, files, rules)
        _write_beside(path, {})
    if key:
        changed = _sign(path, key, check_mode) or changed
    header = {"before_header": f"{path}: {CHECKSUMS}", "after_header": f"{path}: {CHECKSUMS}"}
    diff = {**header, "before": before, "after": texts[CHECKSUMS]}
    return {
        "changed": changed,
        "path": str(path),
        "files": len(files),
        "redactions": sum(count for kinds in findings.values() for _, count in kinds.values()),
        "left_out": [plain(path) for path in left_out],
        **({"diff": diff} if with_diff else {}),
    }


def _write_beside(path: Path, signature: dict[Path, str]) -> bool:
    """Write the signature, if given, and the checksums; return whether a file changed."""
    sums = {path.name: file_sha256(path)}
    sums.update({to.name: _text_sha256(text) for to, text in signature.items()})
    beside = {path.with_name(f"{path.name}.sha256"): beside_text(sums)}
    written = write_texts({**signature, **beside}, check_mode=False, with_diff=False)
    return bool(written["changed"])


def _sign(path: Path, key: str, check_mode: bool) -> bool:
    """Sign the archive; return whether that changed a file, or would."""
    if check_mode:
        return not signature_of(path).exists()
    return _write_beside(path, {signature_of(path): sign(path, key)})


def _before(path: Path) -> str:
    """Return the text of SHA256SUMS in the existing archive; empty without a valid one."""
    try:
        own = beside_text({path.name: file_sha256(path)})
        return head(path)[1] if checksum_beside(path).startswith(own) else ""
    except (FileNotFoundError, ValueError):
        return ""


def _text_sha256(text: str) -> str:
    """Return a text's SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class Packed:
    """A file as it is in the archive; size in bytes, findings as those of ``Redactor``."""

    path: str
    size: int
    sha256: str
    findings: dict[str, tuple[int, int]]


def survey(folder: Path, rules: Sequence[Rule]) -> tuple[list[Packed], list[str]]:
    """Return the files that belong to the campaign, sorted by path, and the paths of the others.

    :param rules: of ``secret_forms.patterns``.
    :raises ValueError: a line is too long to be searched.
    :raises OSError: a file cannot be read.
    """
    own, others = [], []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            file = Path(root, name)
            path = file.relative_to(folder).as_posix()
            # Regular files only: a link may lead anywhere, a pipe has no end.
            if belongs(path) and stat.S_ISREG(file.lstat().st_mode):
                own.append(path)
            # The claim of the run that writes here says nothing of what was measured.
            elif path not in CLAIM_FILES:
                others.append(path)
    return [_measured(folder, path, rules) for path in sorted(own)], sorted(others)


def _measured(folder: Path, path: str, rules: Sequence[Rule]) -> Packed:
    redactor, digest, size = Redactor(rules), hashlib.sha256(), 0
    for piece in _redacted(folder, path, redactor):
        digest.update(piece)
        size += len(piece)
    if path.endswith(".json") and _hides_a_secret(folder / path):
        redactor.findings.setdefault("secret in a list or mapping", (1, 1))
    return Packed(path, size, digest.hexdigest(), redactor.findings)


def _hides_a_secret(path: Path) -> bool:
    """Return whether a JSON document has a secret that its lines do not show, as a list may."""
    mark = "[redacted"
    if path.stat().st_size > LARGEST:
        return False
    try:
        value = read_json(path)
    except ValueError:
        # A damaged one is searched as one line.
        value = " ".join(path.read_text(encoding="utf-8", errors="replace").split())
    return json.dumps(shown(value)).count(mark) > json.dumps(value).count(mark)


def _redacted(folder: Path, path: str, redactor: Redactor) -> Iterator[bytes]:
    """Yield the content of a file in the archive; secrets are replaced in logs only."""
    with (folder / path).open("rb") as file:
        if not is_text(path):
            yield from iter(lambda: file.read(PIECE), b"")
        elif is_log(path):
            yield from redactor.redact(_whole_lines(file, path))
        else:
            for piece in _whole_lines(file, path):
                # Only for the findings: with a secret here the campaign is not archived.
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


def _write_archive(
    archive: Path,
    campaign: str,
    folder: Path,
    texts: dict[str, str],
    files: Sequence[Packed],
    rules: Sequence[Rule],
) -> None:
    """Write the archive atomically: first ``texts`` by path, then the files.

    :raises ValueError: a file has changed since ``survey``, or a path or file exceeds the limits
        of the ustar format (255 bytes, 8 GiB).
    :raises OSError: a file cannot be read or written.
    """
    durable.make_folder(archive.parent)
    remove_partial(archive)
    part = archive.with_name(f".{archive.name}.{os.getpid()}.part")
    try:
        with (
            part.open("xb") as raw,
            # Without name and time of the file, so that the bytes are reproducible.
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
        durable.replace(part, archive)
    finally:
        part.unlink(missing_ok=True)


def _add(
    tar: tarfile.TarFile, campaign: str, folder: Path, file: Packed, rules: Sequence[Rule]
) -> None:
    content = _Content(_redacted(folder, file.path, Redactor(rules)))
    try:
        tar.addfile(_member(campaign, file.path, file.size), content)
        same = content.sha256.hexdigest() == file.sha256 and not content.read(1)
    except OSError as error:
        if error.errno is not None:
            raise
        same = False
    if not same:
        raise ValueError(
            f"{folder / file.path}: it changes while it is archived: a campaign is running"
        )


def _member(campaign: str, path: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(f"{campaign}/{path}")
    member.size, member.mtime, member.mode = size, TIME, 0o644
    return member


class _Content:
    """Pieces of bytes as a readable file for tarfile, with the checksum of what was read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.sha256 = hashlib.sha256()
        self._pieces = pieces
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes; fewer at the end."""
        while len(self._rest) < size:
            piece = next(self._pieces, b"")
            if not piece:
                break
            self._rest += piece
        taken, self._rest = self._rest[:size], self._rest[size:]
        self.sha256.update(taken)
        return taken
