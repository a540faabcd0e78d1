"""Writes a text file on the controller only where it differs, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

__all__ = ["write_texts"]


def _before(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_texts(texts: dict[Path, str], check_mode: bool, with_diff: bool) -> dict[str, Any]:
    """Write what differs; return ``changed``, ``paths`` of what was (or would be), and ``diff``.

    :raises AnsibleActionFail: a path cannot be read or written.
    """
    changed: list[str] = []
    diff: list[dict[str, str]] = []
    for path, text in texts.items():
        try:
            before = _before(path)
            if before == text:
                continue
            if not check_mode:
                _write(path, text)
        except OSError as error:
            raise AnsibleActionFail(f"{path}: cannot be written: {error.strerror}") from error
        changed.append(str(path))
        header = {"before_header": str(path), "after_header": str(path)}
        diff.append({**header, "before": before or "", "after": text})
    return {"changed": bool(changed), "paths": changed, **({"diff": diff} if with_diff else {})}
