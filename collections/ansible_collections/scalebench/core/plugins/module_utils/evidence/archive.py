"""What the archive of a campaign holds: which files, their checksums, what was taken out."""

from __future__ import annotations

import json
import re
from typing import Mapping, Tuple

__all__ = [
    "CHECKSUMS",
    "MANIFEST",
    "belongs",
    "checksums_text",
    "is_log",
    "is_text",
    "manifest_text",
    "refusal",
]

SCHEMA = 1
CHECKSUMS = "SHA256SUMS"
MANIFEST = "MANIFEST.json"
# Names that checksums and a terminal can show; without control characters and backslashes.
_PARTS = re.compile(r"[^/\\\x00-\x1f\x7f]+(/[^/\\\x00-\x1f\x7f]+)*")
_TOP = re.compile(
    r"plan\.json|[^/]+_result\.json|results\.json|results\.csv|report\.md|junit\.xml"
    r"|scalebench\.prom"
)
_SHOWN = (".svg", ".png", ".html")
_BELOW_LOGS = (".log", ".out", ".txt", ".json", ".jsonl", ".csv")
_LOGS = (".log", ".out", ".txt")
_MOST_SHOWN = 10

# Of one file, by kind of secret: the first line with one, and how many there are.
Findings = Mapping[str, Tuple[int, int]]


def belongs(path: str) -> bool:
    """Return whether a file is the campaign's own: plan, logs and records, results and report.

    :param path: relative to the campaign's folder, with ``/``. No part of it begins with a dot:
        a file that is being written does, and a path that leads out of the folder.
    """
    if not _PARTS.fullmatch(path) or any(part.startswith(".") for part in path.split("/")):
        return False
    if path.startswith("logs/"):
        return path.endswith(_BELOW_LOGS)
    return bool(_TOP.fullmatch(path)) or ("/" not in path and path.endswith(_SHOWN))


def is_log(path: str) -> bool:
    """Return whether a file is a program's output, in which a secret is replaced, not refused."""
    return path.startswith("logs/") and path.endswith(_LOGS)


def is_text(path: str) -> bool:
    """Return whether a file is searched for secrets."""
    return not path.endswith(".png")


def checksums_text(sums: Mapping[str, str]) -> str:
    """Return checksums as sha256sum writes and reads them, in the order of the paths.

    :param sums: SHA-256 in hexadecimal by path.
    """
    return "".join(f"{sums[path]}  {path}\n" for path in sorted(sums))


def manifest_text(campaign: str, findings: Mapping[str, Findings]) -> str:
    """Return what the archive says of itself, as JSON.

    :param findings: by log, what was taken out of it.
    """
    redactions = [
        {"path": path, "kind": kind, "line": line, "count": count}
        for path in sorted(findings)
        for kind, (line, count) in sorted(findings[path].items())
    ]
    content = {"schema": SCHEMA, "campaign": campaign, "redactions": redactions}
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def refusal(findings: Mapping[str, Findings]) -> str:
    """Return why a campaign cannot be archived, and what to do; empty for no reason.

    :param findings: by file that is no log, what was found in it.
    """
    found = [
        f"{path} line {line}: {kind}"
        for path in sorted(findings)
        for kind, (line, _) in sorted(findings[path].items())
    ]
    if not found:
        return ""
    more = f"; {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
    return (
        f"secrets would leave with the archive: {'; '.join(found[:_MOST_SHOWN])}{more}."
        " Take them out of these files (in logs they are replaced), and out of the variables and"
        " commands that they come from"
    )
