"""Secrets in text: patterns that recognise them, and a redactor that replaces them.

Recognised are tokens of known forms, private keys, and the values of variables whose names mark
them as secret.
"""

from __future__ import annotations

import re
from functools import partial
from typing import (
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Match,
    NamedTuple,
    Pattern,
    Sequence,
    Tuple,
)

__all__ = ["RULES", "Redactor", "Rule", "is_secret_name", "patterns"]

# A longer word has another meaning: TOKENIZERS_PARALLELISM, KEYRING.
_NAME = rb"[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|KEY)(?![A-Z])[A-Z0-9_]*"
# Not secret: the path of a secret, and InfiniBand's partition key (NCCL_IB_PKEY).
HARMLESS = re.compile(rb".*_(?:FILE|PATH|DIR|PKEY)")
# Not secret: an empty value, a reference to a variable, a value that is already masked.
_NOTHING = rb"(?!\$|\*|\[redacted|null\b|None\b|[\"',\s])"
# The formats of RFC 7468 and OpenPGP.
_KEY_BEGIN = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
_KEY_END = re.compile(rb"-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
_PRIVATE_KEY = "private key"


class Rule(NamedTuple):
    """One kind of secret. Only a text that contains one of the ``anchors`` is searched.

    Group ``value`` of the pattern is the secret; the rest of the match identifies it.
    """

    kind: str
    anchors: Tuple[bytes, ...]
    pattern: Pattern[bytes]


def _rule(kind: str, anchors: Sequence[bytes], pattern: bytes) -> Rule:
    return Rule(kind, tuple(anchors), re.compile(pattern))


# The formats that issuers document, among them
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html,
# https://docs.github.com/en/authentication, RFC 7519 (JSON web token) and RFC 4253 (ssh key).
RULES = (
    _rule("AWS access key", [b"AKIA", b"ASIA"], rb"\b(?P<value>(?:AKIA|ASIA)[A-Z0-9]{16})\b"),
    _rule(
        "GitHub token",
        [b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"],
        rb"(?P<value>gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
    ),
    _rule("GitLab token", [b"glpat-"], rb"(?P<value>glpat-[A-Za-z0-9_-]{20,})"),
    _rule("Hugging Face token", [b"hf_"], rb"(?<![A-Za-z0-9_])(?P<value>hf_[A-Za-z0-9]{30,})"),
    _rule("NGC key", [b"nvapi-"], rb"(?P<value>nvapi-[A-Za-z0-9_-]{20,})"),
    _rule(
        "JSON web token",
        [b"eyJ"],
        rb"(?P<value>eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+)",
    ),
    _rule(
        "authorization header",
        [b"uthorization"],
        rb"uthorization[\"']?\s*[:=]\s*[\"']?(?:Bearer|Basic|Token)\s+(?P<value>"
        + _NOTHING
        + rb"[^\s\"']+)",
    ),
    _rule(
        "password in a URL", [b"://"], rb"://[^/\s:@\"']*:(?P<value>" + _NOTHING + rb"[^/\s@\"']+)@"
    ),
    _rule(
        "ssh key",
        [b" AAAA"],
        rb"(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]+) (?P<value>AAAA[A-Za-z0-9+/=]{40,})",
    ),
    _rule(
        "secret of the environment",
        [b"TOKEN", b"SECRET", b"PASSWORD", b"PASSWD", b"KEY"],
        rb"(?<![A-Z0-9_])(?P<name>"
        + _NAME
        + rb")(?:\\?[\"'])?(?:\s*:\s*|\s+=\s+|=)(?:\\?[\"'])?(?P<value>"
        + _NOTHING
        + rb"(?:(?<=[\"'])[^\"'\r\n\\]+|[^\s\"',;}\\]+))",
    ),
)


def is_secret_name(name: str) -> bool:
    """Return whether an environment variable of this name holds a secret."""
    text = name.upper().encode("utf-8", "replace")
    return bool(re.fullmatch(_NAME, text)) and not HARMLESS.fullmatch(text)


def patterns(environment: Mapping[str, bytes]) -> List[Rule]:
    """Return ``RULES`` and one more rule for each secret value of the environment.

    Values shorter than eight bytes are left out: they would match ordinary text.

    :param environment: value by name of variable.
    """
    own = [
        _rule(f"value of {name}", [value], rb"(?P<value>" + re.escape(value) + rb")")
        for name, value in sorted(environment.items())
        if is_secret_name(name) and len(value) >= 8
    ]
    return [*own, *RULES]


class Redactor:
    """Replaces the secrets of one file, piece by piece.

    ``findings`` holds by kind of secret the first line with one, counted from 1, and their number.
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
        """Return a line without the part that belongs to a private key.

        Where the end of a key is missing, the rest of the file is removed. Line ends stay.
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
