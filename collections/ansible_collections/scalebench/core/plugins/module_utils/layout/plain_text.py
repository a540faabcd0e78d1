"""Text from logs, paths and hosts, made fit to be shown: one line, no control characters, cut.

Values for CSV files and for Prometheus are made of it too.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, List, Mapping, Sequence, Tuple

__all__ = [
    "LONGEST",
    "Sample",
    "csv_value",
    "last_lines",
    "listed",
    "metric",
    "plain",
    "printable",
    "without_commands",
]

# ECMA-48: control sequences (colours, cursor), operating-system commands (titles, links), the rest.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
)
# Unicode's categories of what has no shape of its own: control, format (which turns text around),
# private use, half of a pair, ends of a line or paragraph.
_SHAPELESS = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
# The longest text where nothing else is said, in characters.
LONGEST = 300
# Labels of a metric, and its value or None.
Sample = Tuple[Mapping[str, Any], Any]


def plain(text: Any, longest: int = LONGEST) -> str:
    """Return a text in one line of at most ``longest`` characters, ``…`` where it was cut.

    Escape sequences go, other characters without a shape become spaces, and runs of spaces one.
    """
    # Ten megabytes in one line are cut before they are looked at.
    line = " ".join(printable(str(text)[: 20 * longest]).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def printable(text: str) -> str:
    """Return a text in one line as :func:`plain`, whole and with its runs of spaces."""
    return without_commands(_ESCAPES.sub("", text), " ").replace("\t", " ")


def without_commands(text: str, instead: str) -> str:
    """Return a text with escape sequences and characters without a shape replaced; tabs stay."""
    if text.replace("\t", "").isprintable():
        return text
    return "".join(
        instead
        if character != "\t" and unicodedata.category(character) in _SHAPELESS
        else character
        for character in _ESCAPES.sub(instead, text)
    )


def csv_value(value: Any) -> Any:
    """Return what a field of a CSV file holds; a text is :func:`plain`, and never a formula.

    Spreadsheets compute a text that begins with one of ``=+-@``, in full width too; an apostrophe
    keeps it a text (OWASP, CSV injection).
    """
    if not isinstance(value, str):
        return value
    text = plain(value)
    return f"'{text}" if text.startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20")) else text


def metric(name: str, about: str, samples: Sequence[Sample]) -> str:
    """Return a gauge of Prometheus' text format 0.0.4, nothing where it has no sample.

    node_exporter's textfile collector reads it; it accepts no timestamps, hence none here. A
    missing figure has no line: an alert must not take it for a zero.
    """
    lines = [f"{name}{_braces(labels)} {value}" for labels, value in samples if value is not None]
    if not lines:
        return ""
    return "\n".join([f"# HELP {name} {about}", f"# TYPE {name} gauge", *lines, ""])


def _braces(labels: Mapping[str, Any]) -> str:
    """Return labels in braces, backslash and quote escaped; plain text has no line ends."""
    pairs = [
        '{}="{}"'.format(key, plain(value).replace("\\", r"\\").replace('"', r"\""))
        for key, value in labels.items()
    ]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def last_lines(text: str, most: int = 20, longest: int = LONGEST) -> List[str]:
    """Return the last lines that have something in them, at most ``most``, each :func:`plain`.

    What a progress bar overwrote counts as a line of its own.
    """
    lines: List[str] = []
    for line in reversed(re.split(r"[\r\n]+", text)):
        shown = plain(line, longest)
        if shown:
            lines.append(shown)
        if len(lines) == most:
            break
    return lines[::-1]


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return the first of some names with commas, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
