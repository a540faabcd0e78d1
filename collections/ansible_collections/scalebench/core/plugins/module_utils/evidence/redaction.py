"""Takes the secrets out of a file's text, piece by piece, and tells where they were."""

from __future__ import annotations

import re
from functools import partial
from typing import Dict, Iterable, Iterator, Match, Sequence, Tuple

from .secret_patterns import HARMLESS, Rule

__all__ = ["Redactor"]

# RFC 7468 and OpenPGP's.
_KEY_BEGIN = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
_KEY_END = re.compile(rb"-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
_PRIVATE_KEY = "private key"


class Redactor:
    """Goes over one file piece by piece; keeps the findings and gives the text without them.

    ``findings`` holds by kind the first line with one, counted from 1, and how many there are.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.findings: Dict[str, Tuple[int, int]] = {}
        self._rules = rules
        self._line = 1
        self._in_key = False

    def redact(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield each piece with its secrets replaced by ``[redacted: <kind>]``.

        :param pieces: of whole lines, so that no secret lies across two of them.
        """
        for piece in pieces:
            rules = [rule for rule in self._rules if any(word in piece for word in rule.anchors)]
            if rules or self._in_key or b"PRIVATE KEY" in piece:
                yield self._cleaned(piece, rules)
            else:
                self._line += piece.count(b"\n")
                yield piece

    def _cleaned(self, piece: bytes, rules: Sequence[Rule]) -> bytes:
        first, lines = self._line, piece.split(b"\n")
        cleaned = []
        for number, line in enumerate(lines, first):
            self._line = number
            text = self._without_key(line)
            for rule in rules:
                text = rule.pattern.sub(partial(self._replaced, rule), text)
            cleaned.append(text)
        return b"\n".join(cleaned)

    def _without_key(self, line: bytes) -> bytes:
        """Take out all from the first line of a private key to its last, which may be this one.

        Where the last is missing, the rest of the file goes: it may be the key. Line ends stay.
        """
        kept = b""
        while True:
            mark = (_KEY_END if self._in_key else _KEY_BEGIN).search(line)
            if mark is None:
                return kept if self._in_key else kept + line
            if not self._in_key:
                kept += line[: mark.start()] + self._note(_PRIVATE_KEY)
            self._in_key = not self._in_key
            line = line[mark.end() :]

    def _replaced(self, rule: Rule, match: Match[bytes]) -> bytes:
        if "name" in rule.pattern.groupindex and HARMLESS.fullmatch(match["name"]):
            return match.group()
        start, end = (place - match.start() for place in match.span("value"))
        return match.group()[:start] + self._note(rule.kind) + match.group()[end:]

    def _note(self, kind: str) -> bytes:
        line, count = self.findings.get(kind, (self._line, 0))
        self.findings[kind] = (min(line, self._line), count + 1)
        return b"[redacted: " + kind.encode("utf-8") + b"]"
