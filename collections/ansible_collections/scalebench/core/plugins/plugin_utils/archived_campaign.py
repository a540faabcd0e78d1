"""Packs a campaign into one file with checksums, where there is not that file already."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.evidence.archive import (
    CHECKSUMS,
    MANIFEST,
    checksums_text,
    is_log,
    manifest_text,
    refusal,
)
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import patterns
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_members import head
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_reading import file_sha256
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_survey import survey
from ansible_collections.scalebench.core.plugins.plugin_utils.archive_writing import write_archive
from ansible_collections.scalebench.core.plugins.plugin_utils.written import write_texts

__all__ = ["archive"]


def archive(folder: Path, path: Path, check_mode: bool, with_diff: bool) -> dict[str, Any]:
    """Archive the campaign in ``folder`` at ``path``, its checksum in ``<path>.sha256``.

    :returns: ``changed``, ``path``, ``files`` and ``redactions`` (how many), ``left_out`` (the
        paths that are not the campaign's own), ``diff`` of the checksums.
    :raises ValueError: no campaign, or one with secrets in files that are no logs.
    :raises OSError: something cannot be read or written.
    """
    if not (folder / "plan.json").is_file():
        raise ValueError(f"no campaign {folder.name} in {folder.parent}: there is no plan.json")
    rules = patterns({os.fsdecode(name): value for name, value in os.environb.items()})
    files, left_out = survey(folder, rules)
    refused = refusal({file.path: file.findings for file in files if not is_log(file.path)})
    if refused:
        raise ValueError(f"{folder}: {refused}")
    findings = {file.path: file.findings for file in files if file.findings}
    manifest = manifest_text(folder.name, findings)
    sums = {file.path: file.sha256 for file in files}
    sums[MANIFEST] = hashlib.sha256(manifest.encode("utf-8")).hexdigest()
    texts = {CHECKSUMS: checksums_text(sums), MANIFEST: manifest}
    before = _before(path)
    changed = before != texts[CHECKSUMS]
    if changed and not check_mode:
        write_archive(path, folder.name, folder, texts, files, rules)
        beside = {_beside(path): f"{file_sha256(path)}  {path.name}\n"}
        write_texts(beside, check_mode=False, with_diff=False)
    header = {"before_header": f"{path}: {CHECKSUMS}", "after_header": f"{path}: {CHECKSUMS}"}
    diff = {**header, "before": before, "after": texts[CHECKSUMS]}
    return {
        "changed": changed,
        "path": str(path),
        "files": len(files),
        "redactions": sum(count for found in findings.values() for _, count in found.values()),
        "left_out": left_out,
        **({"diff": diff} if with_diff else {}),
    }


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _before(path: Path) -> str:
    """Return the checksums in the archive that is there; empty for none, or a damaged one."""
    try:
        sent = _beside(path).read_text(encoding="utf-8")
        return head(path)[1] if sent == f"{file_sha256(path)}  {path.name}\n" else ""
    except (FileNotFoundError, ValueError):
        return ""
