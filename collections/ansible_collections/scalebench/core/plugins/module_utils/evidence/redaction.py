"""Text without secrets: for files that are handed on, logs, reports and the terminal."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache, partial
from itertools import count
from typing import (
    Any,
    Container,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Match,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from ..layout.plain_text import without_commands
from .secret_forms import (
    BLOCK_OF_YAML,
    KEY_BEGIN,
    KEY_END,
    LOGIN_PROGRAMS,
    NAME_ON_ITS_OWN_LINE,
    RULES,
    VALUE_ON_THE_NEXT_LINE,
    Rule,
    is_secret_key,
    line_of_block,
)

__all__ = ["Redactor", "redacted_end", "shown"]

_PRIVATE_KEY = "private key"
_MASKED = "[redacted]"
# Characters of a text that is kept with what is shown of it.
_LONGEST_WORD = 300
# Commands whose secrets are known by the option before them, and words of them that are looked at.
_COMMANDS = (
    *("sshpass", "curl", "mysql", "ipmitool", "redis-cli", "ldapsearch", "wandb", "vault"),
    *LOGIN_PROGRAMS,
)
_MOST_WORDS = 30
_HEADERS = ("authorization", "proxy-authorization", "cookie", "set-cookie")
# Keys of a pair of name and value.
_NAMES_OF_PAIRS, _VALUES = ("name", "Name", "key", "Key"), {"value", "Value"}
# What may be a command to a terminal, or have no shape.
_ODD = re.compile(rb"[^\t\r\n -~]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Redactor:
    """Replaces the secrets of one file, piece by piece.

    ``findings`` holds by kind of secret the first line with one, counted from 1, and their number.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.findings: Dict[str, Tuple[int, int]] = {}
        self._rules = rules
        # Several rules have an anchor in common, which is looked for once.
        self._anchors = {one for rule in rules for one in rule.anchors}
        self._line = 1
        self._in_key = False
        # Whether the last line that was not empty ends with the name of a secret.
        self._named = False
        # Within a block scalar of YAML: what stands before each line, the column of its name, and
        # what a secret line of it is.
        self._block: Optional[Tuple[bytes, int, Rule]] = None

    def redact(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield each piece with its secrets replaced by ``[redacted: <kind>]``.

        :param pieces: of whole lines, so that no secret lies across two of them.
        """
        for piece in pieces:
            small, odd = piece.lower(), _ODD.search(piece)
            there = {one for one in self._anchors if one in small}
            rules = [rule for rule in self._rules if odd or not there.isdisjoint(rule.anchors)]
            if rules or self._in_key or self._block or b"PRIVATE KEY" in piece:
                yield self._cleaned(piece, rules)
            else:
                self._line += piece.count(b"\n")
                self._named = self._named and not piece.strip()
                yield piece

    def _cleaned(self, piece: bytes, rules: Sequence[Rule]) -> bytes:
        first, lines = self._line, piece.split(b"\n")
        cleaned = []
        for number, line in enumerate(lines, first):
            self._line = number
            named = self._named
            without = self._without_block(self._without_value(line), named)
            cleaned.append(self._cleaned_line(without, rules))
        return b"\n".join(cleaned)

    def _without_value(self, line: bytes) -> bytes:
        """Return a line without the value of the name on the line before."""
        if not line.strip():
            return line
        small, rule = line.lower(), VALUE_ON_THE_NEXT_LINE
        if self._named and b"value" in small:
            line = re.sub(rule.pattern, partial(self._replaced, rule), line, count=1)
        self._named = (b"name" in small or b"key" in small) and bool(
            re.search(NAME_ON_ITS_OWN_LINE, line.rstrip(b", \t\r"))
        )
        return line

    def _without_block(self, line: bytes, named: bool) -> bytes:
        """Return a line without the value of the block scalar that it belongs to.

        :param named: whether the line before ends with the name of a secret.
        """
        if self._block:
            before, column, rule = self._block
            text = line[len(before) :] if line.startswith(before) else line
            if not text.strip():
                return line
            if len(text) - len(text.lstrip(b" ")) > column:
                # A key is removed as a whole.
                is_key = self._in_key or KEY_BEGIN.search(text)
                masked = (
                    text if is_key else re.sub(rule.pattern, partial(self._replaced, rule), text)
                )
                return line[: len(line) - len(text)] + masked
            self._block = None
        if b": " in line and (b" |" in line or b" >" in line):
            found = re.match(BLOCK_OF_YAML, line)
            if found:
                # The name of a pair stands on the line before its value.
                of_pair = named and found["name"].strip(b"\"'") == b"value"
                of_block = line_of_block(b"PASSWORD" if of_pair else found["name"])
                if of_block:
                    before = found["before"]
                    column = found.start("name") - len(before)
                    self._block = before, column, of_block
        return line

    def _cleaned_line(self, line: bytes, rules: Sequence[Rule]) -> bytes:
        """Return a line without secrets: as it is where it has none, else without commands too.

        A colour may stand between a secret and the word before it, or inside of it or its name.
        """
        if _ODD.search(line):
            parts = line.decode("utf-8", "surrogateescape").split("\r")
            parted = "\r".join(without_commands(part, "\0") for part in parts).encode("utf-8")
            found = self._searched(parted, rules).replace(b"\0", b"")
            joined = self._searched(found, rules)
            if joined != parted.replace(b"\0", b""):
                return joined
        return self._searched(line, rules)

    def _searched(self, line: bytes, rules: Sequence[Rule]) -> bytes:
        text, small = self._without_key(line), line.lower()
        for rule in rules:
            if any(word in small for word in rule.anchors):
                text = re.sub(rule.pattern, partial(self._replaced, rule), text)
        return text

    def _without_key(self, line: bytes) -> bytes:
        """Return a line without the part that belongs to a private key.

        Where the end of a key is missing, the rest of the file is removed. Line ends stay.
        """
        kept = b""
        while True:
            mark = (KEY_END if self._in_key else KEY_BEGIN).search(line)
            if mark is None:
                return kept if self._in_key else kept + line
            if not self._in_key:
                kept += line[: mark.start()] + self._note(_PRIVATE_KEY)
            self._in_key = not self._in_key
            line = line[mark.end() :]

    def _replaced(self, rule: Rule, match: Match[bytes]) -> bytes:
        start, end = (place - match.start() for place in match.span("value"))
        return match.group()[:start] + self._note(rule.kind) + match.group()[end:]

    def _note(self, kind: str) -> bytes:
        line, count = self.findings.get(kind, (self._line, 0))
        self.findings[kind] = (min(line, self._line), count + 1)
        return b"[redacted: " + kind.encode("utf-8") + b"]"


def redacted_end(text: bytes, whole: bool) -> bytes:
    """Return the end of a file without secrets.

    :param whole: whether it is the whole file; else its first line is dropped, which may be the
        rest of a secret, as is all up to the end of a private key that begins before.
    """
    if not whole:
        text = re.sub(rb"\A[^\r\n]*[\r\n]?", b"", text)
        begin, end = KEY_BEGIN.search(text), KEY_END.search(text)
        if end and not (begin and begin.start() < end.start()):
            text = text[end.end() :]
    return b"".join(Redactor(RULES).redact([text]))


def shown(value: Any) -> Any:
    """Return a value, or all texts in a list or mapping, fit to be shown and passed on.

    Secrets of known forms are replaced, values of variables with a secret's name too. Control
    characters but line ends and tabs, which would reach a terminal, stand as their escapes.
    """
    if isinstance(value, str):
        return _shown_word(value) if len(value) < _LONGEST_WORD else _shown_text(value)
    if isinstance(value, Mapping):
        # As containers state their environment: {"name": ..., "value": ...}; clouds say "Key".
        pair = (
            [one for one in _NAMES_OF_PAIRS if one in value] if _VALUES.intersection(value) else []
        )
        made: Dict[Any, Any] = {}
        for key, each in value.items():
            named = value[pair[0]] if pair and key in _VALUES else key
            secret = key not in pair and _is_secret(named, each)
            made[_shown_key(key, made)] = _MASKED if secret else shown(each)
        return made
    if isinstance(value, (list, tuple)):
        before: List[Any] = [None, *value]
        masked = _secret_arguments(value)
        return [
            _MASKED if number in masked or _is_option_of(last, each) else shown(each)
            for number, (last, each) in enumerate(zip(before, value))
        ]
    return value


def _shown_key(key: Any, others: Container[Any]) -> Any:
    """Return a key of a mapping, fit to be shown and different from the others."""
    name = shown(key)
    if name not in others:
        return name
    numbered = (f"{name} ({number})" for number in count(2))
    return next(one for one in numbered if one not in others)


def _shown_text(text: str) -> str:
    redacted = Redactor(RULES).redact([text.encode("utf-8", "replace")])
    without = b"".join(redacted).decode("utf-8")
    return _CONTROL.sub(lambda match: ascii(match.group())[1:-1], without)


# Records repeat the words of commands and environments, repeat after repeat and node after node.
_shown_word = lru_cache(maxsize=1 << 12)(_shown_text)
_is_secret_key = lru_cache(maxsize=1 << 12)(is_secret_key)


def _is_option_of(last: Any, value: Any) -> bool:
    """Return whether a word of a command is the secret that the option before it names."""
    if not (isinstance(last, str) and isinstance(value, str) and last.startswith("--")):
        return False
    both = f"{last} {value}"
    return bool(shown(last) == last and shown(value) == value and shown(both) != both)


def _secret_arguments(words: Sequence[Any]) -> Set[int]:
    """Return which words of a command are secrets by those before them, as that of sshpass -p."""
    if not all(isinstance(word, str) for word in words[:_MOST_WORDS]):
        return set()
    program = posixpath.basename(words[0]) if words else ""
    # Programs that start the repeats are among them: looking takes milliseconds.
    if program not in _COMMANDS or (program in LOGIN_PROGRAMS and "login" not in words):
        return set()
    return {
        number
        for number, word in enumerate(words[:_MOST_WORDS])
        if number
        and not _shown_text(" ".join(words[: number + 1])).endswith(word)
        and _shown_text(word) == word
    }


def _is_secret(key: Any, value: Any) -> bool:
    if not isinstance(key, str) or not value:
        return False
    texts = value if isinstance(value, (list, tuple)) else [value]
    # Most values are numbers and mappings: to look at the name of each takes longer.
    return all(isinstance(text, str) for text in texts) and (
        _is_secret_key(key) or key.lower() in _HEADERS
    )
