"""The contents of a campaign's archive: its files, checksums, manifest, and the limits of one."""

from __future__ import annotations

import json
import re
from typing import Dict, Mapping, Optional, Tuple

from ..records.cells import CAMPAIGN_NAME

__all__ = [
    "CHECKSUMS",
    "MANIFEST",
    "belongs",
    "beside_text",
    "check_size",
    "checksums_text",
    "is_log",
    "is_text",
    "manifest_text",
    "parse_checksums",
    "refusal",
    "split_member",
    "written_by_report",
]

SCHEMA = 1
CHECKSUMS = "SHA256SUMS"
MANIFEST = "MANIFEST.json"
_PARTS = re.compile(r"[^/\\]+(/[^/\\]+)*")
_TOP = re.compile(
    r"plan\.json|acceptance\.json|preflight\.json|[^/]+_result\.json|results\.json|results\.csv|report\.md|junit\.xml"
    r"|scalebench\.prom|diagnosis\.(?:json|md|prom)"
)
_SHOWN = (".svg", ".png", ".html")
_OF_REPORT = re.compile(
    r"results\.(json|csv)|report\.(md|html)|junit\.xml|scalebench\.prom|[^/]+\.(svg|png)"
)
_BELOW_LOGS = (".log", ".out", ".txt", ".json", ".jsonl", ".csv")
_LOGS = (".log", ".out", ".txt")
_MOST_SHOWN = 10

# Of one file, by kind of secret: the first line with such a secret, and their number.
Findings = Mapping[str, Tuple[int, int]]
# An archive that claims more is refused; campaigns are far smaller.
MOST_FILES = 100_000
MOST_BYTES = 64 * 2**30
_SUM = re.compile(r"([0-9a-f]{64})  (.+)")


def belongs(path: str) -> bool:
    """Return whether a file belongs to a campaign: plan, logs, run records, results, report.

    Paths with a part that begins with a dot do not: files that are being written, and ``..``. Nor
    do names that SHA256SUMS or a terminal cannot show: with backslashes, with control characters
    and ends of lines, also Unicode's (U+0085, U+2028), with what turns text around, or not UTF-8.

    :param path: relative to the campaign's folder, with ``/``.
    """
    if not (path.isprintable() and _PARTS.fullmatch(path)):
        return False
    if any(part.startswith(".") for part in path.split("/")):
        return False
    if path.startswith("logs/"):
        return path.endswith(_BELOW_LOGS)
    return bool(_TOP.fullmatch(path)) or ("/" not in path and path.endswith(_SHOWN))


def is_log(path: str) -> bool:
    """Return whether a file is a program's output, in which secrets are replaced, not refused."""
    return path.startswith("logs/") and path.endswith(_LOGS)


def is_text(path: str) -> bool:
    """Return whether a file is searched for secrets."""
    return not path.endswith(".png")


def checksums_text(sums: Mapping[str, str]) -> str:
    """Return the text of SHA256SUMS, as sha256sum writes and reads it, sorted by path.

    :param sums: SHA-256 in hexadecimal by path.
    """
    return "".join(f"{sums[path]}  {path}\n" for path in sorted(sums))


def beside_text(sums: Mapping[str, str]) -> str:
    """Return the text of the checksum file beside an archive, as sha256sum writes it.

    :param sums: SHA-256 in hexadecimal by name: the archive, then its signature where it has one.
    """
    return "".join(f"{value}  {name}\n" for name, value in sums.items())


def manifest_text(campaign: str, findings: Mapping[str, Findings]) -> str:
    """Return the text of MANIFEST.json: schema, name of the campaign, redactions.

    :param findings: the secrets replaced in each log, by its path.
    """
    redactions = [
        {"path": path, "kind": kind, "line": line, "count": count}
        for path in sorted(findings)
        for kind, (line, count) in sorted(findings[path].items())
    ]
    content = {"schema": SCHEMA, "campaign": campaign, "redactions": redactions}
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def refusal(findings: Mapping[str, Findings]) -> str:
    """Return why a campaign cannot be archived and what to do; empty if it can.

    :param findings: the secrets in each file that is not a log, by its path.
    """
    places = [
        f"{path} line {line}: {kind}"
        for path in sorted(findings)
        for kind, (line, _) in sorted(findings[path].items())
    ]
    if not places:
        return ""
    more = f"; {len(places) - _MOST_SHOWN} more" if len(places) > _MOST_SHOWN else ""
    return (
        f"the campaign contains secrets: {'; '.join(places[:_MOST_SHOWN])}{more}."
        " Remove them from these files (in logs they are replaced), and from the variables and"
        " commands that they come from"
    )


def parse_checksums(text: str) -> Dict[str, str]:
    """Return the checksums of SHA256SUMS by path.

    :raises ValueError: a line is not in the format of sha256sum, or a path is listed twice.
    """
    sums: Dict[str, str] = {}
    # Not splitlines(), which also ends a line at U+0085 and at U+2028.
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1] if not lines[-1] else lines, 1):
        match = _SUM.fullmatch(line)
        if not match or not line.isprintable():
            raise ValueError(f"{CHECKSUMS}: line {number} is not a checksum: {line[:80]!r}")
        if match[2] in sums:
            raise ValueError(f"{CHECKSUMS}: {match[2]} is there twice")
        sums[match[2]] = match[1]
    return sums


def written_by_report(path: str) -> bool:
    """Return whether a report writes this file, so that it may differ from the archived one."""
    return bool(_OF_REPORT.fullmatch(path))


def split_member(name: str) -> Tuple[str, str]:
    """Return the campaign and the path below its folder of an archive's member.

    :raises ValueError: the name leads out of the campaign's folder, or is not a campaign's file.
    """
    campaign, slash, path = name.partition("/")
    if not slash or not CAMPAIGN_NAME.fullmatch(campaign):
        raise ValueError(f"{name!r} is not a path below a campaign's folder")
    if path not in (CHECKSUMS, MANIFEST) and not belongs(path):
        raise ValueError(f"{name!r} is not a file of a campaign")
    return campaign, path


def check_size(number: int, size: int, room: Optional[int] = None) -> None:
    """Raise an error for an archive that is larger than a campaign can be.

    :param number: of the files so far.
    :param size: of these files together, in bytes.
    :param room: free bytes where they are unpacked; None where they are not.
    :raises ValueError: too many files, too large, or too little room.
    """
    if number > MOST_FILES:
        raise ValueError(f"it holds more than {MOST_FILES} files")
    if size > MOST_BYTES:
        raise ValueError(f"it holds more than {MOST_BYTES >> 30} GiB")
    if room is not None and size > room:
        raise ValueError(f"it holds more than the {room >> 20} MiB that are free")
