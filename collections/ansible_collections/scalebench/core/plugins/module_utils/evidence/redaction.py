"""Secrets in text: patterns that recognise them, and a redactor that replaces them.

Recognised are tokens of known forms, private keys, and the values of variables whose names mark
them as secret.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import (
    Any,
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

from ..layout.plain_text import without_commands

__all__ = ["RULES", "Redactor", "Rule", "is_secret_name", "patterns", "redacted_end", "shown"]

# Names of secrets: of variables, keys of JSON or YAML, attributes and long options. A longer word
# has another meaning: TOKENIZERS_PARALLELISM, KEYRING, max_tokens. KEY alone counts in capitals.
_PASSWORDS = rb"SECRET|PASSWORD|PASSWD|PASSPHRASE"
_KEYS = rb"(?:API|ACCESS|ACCOUNT|SECRET|PRIVATE|AUTH|SHARED|SIGNING|ENCRYPTION|MASTER|HMAC)[_-]?KEY"
_TOKENS = rb"TOKEN|CREDENTIALS?|" + _KEYS
# Not secret: a secret's path, number or name, and InfiniBand's partition key (NCCL_IB_PKEY).
_HARMLESS = rb"(?!(?i:%s*[_-](?:FILE|PATH|DIR|PKEY|IDS?|COUNT|NAME|TYPE))(?!%s))"
# Looked at once as a whole: a pattern that tries every part of a name takes quadratic time.
_NAME = (
    rb"(?<![A-Za-z0-9_])(?=[A-Z0-9_]*(?:(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|SSHPASS|KEY)(?![A-Z])"
    rb"|(?:_PASS|_PWD|_JWT|_CREDS|DBPASS|LDAPPASS)(?![A-Z0-9_])))"
    + _HARMLESS % ((rb"[A-Z0-9_]",) * 2)
    + rb"[A-Z0-9_]+"
)
_NAME_WITH = (
    rb"(?<![\w-])%s(?=(?i:[\w-]*(?:%s)(?![a-z])))" + _HARMLESS % ((rb"[\w-]",) * 2) + rb"[\w-]+"
)
# Not secret: an empty value, a reference to a variable, a value that is already masked.
_NOTHING = (
    rb"(?!\$(?:[A-Z_][A-Z0-9_]*|\{\w+\})(?![^\s\"',;&)}\]])|\$\(|\*+(?![^\s\"',;&)}\]])"
    rb"|\[redacted|null\b|None\b|(?i:true|false)\b|(?i:[bfru]{0,2})\\?[\"']|[,\s])"
)
_NO_NUMBER = rb"(?![\d.,]+(?:\s|$))"
# What is no word of a message: it has a digit, or small and capital letters.
_NO_WORD = rb"(?:(?=\S{0,99}\d)|(?=[^\sa-z]{0,99}[a-z][^\sA-Z]{0,99}[A-Z]))"
# Who or what has a password whose name ends in a short word: ansible_become_pass, db-pwd.
_OWNERS = (
    rb"(?:become|sudo|su|ssh|user|root|admin|login|db|database|mysql|pgsql|postgres|redis|mongo|sql"
    rb"|ldap|bind|smtp|mail|ftp|http|https|proxy|registry|vault|ipmi|bmc|keystore|key|cert)"
)
_SHORT = rb"(?:(?:[\w-]*[_-])?" + _OWNERS + rb"[_-](?:pass|pwd|pw)|sshpass|bindpw)(?![\w-])"
# A value in quotes, which end it where they are not escaped, or a word. A separator ends the word
# before a space or the next name only; else it is a character of a password.
_IN_QUOTES = (
    rb"(?<=\\[\"'])[^\"'\r\n\\]+|(?<=[^\\]\")(?:[^\"\\\r\n]|\\.)+|(?<=[^\\]')(?:[^'\\\r\n]|\\.|'')+"
)
_REST = rb"(?:(?!\[redacted)[^\s\"',;&}\\]|[,;&](?![\w.-]+=|[\s\"']|$)|\}(?=\w)|\\(?![nrt\"'\s]|$))"
_QUOTED = rb"(?:" + _IN_QUOTES + rb"|" + _REST + rb"+)"
# A value in quotes, or a word of some length that is no list.
_WORD = rb"(?:" + _IN_QUOTES + rb"|%s(?:(?![<\[({])" + _REST + rb"){6}" + _REST + rb"*))"
# The formats of RFC 7468 and OpenPGP.
_KEY_BEGIN = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
_KEY_END = re.compile(rb"-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
_PRIVATE_KEY = "private key"
_MASKED = "[redacted]"
# Characters of a text that is kept with what is shown of it.
_LONGEST_WORD = 300
# What may be a command to a terminal, or have no shape.
_ODD = re.compile(rb"[^\t\r\n -~]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


# What lies between a name and its value, and the beginning of the value. A type may stand before
# the value (HF_TOKEN: str = "..."), and the name be a key in brackets.
_ASSIGNED = (
    rb"(?:\\?[\"']\]?)?(?:\s*:\s?\w{1,20}\s=\s|\s*:\s*(?!\w{1,20}\s=\s)|\s+=>?\s+|\+?=)"
    rb"(?:[bBfFrRuU]{0,2}\\?[\"'])?(?P<value>"
)
# The same of an option, also as words of a list.
_GIVEN = rb"(?:[\"'],\s*|\s+|=)[\"']?(?P<value>(?!-)"


class Rule(NamedTuple):
    """One kind of secret. Only a line that contains one of the ``anchors`` is searched.

    Anchors are in small letters, and looked for in the line in small letters.

    Group ``value`` of the pattern is the secret; the rest of the match identifies it.
    """

    kind: str
    anchors: Tuple[bytes, ...]
    pattern: Pattern[bytes]


def _rule(kind: str, anchors: Sequence[bytes], pattern: bytes) -> Rule:
    return Rule(kind, tuple(word.lower() for word in anchors), re.compile(pattern))


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
    _rule("Slack token", [b"xox"], rb"\b(?P<value>xox[abeoprs]-[A-Za-z0-9-]{10,})"),
    _rule(
        "OpenAI or Anthropic key", [b"sk-"], rb"(?<![A-Za-z0-9-])(?P<value>sk-[A-Za-z0-9_-]{20,})"
    ),
    _rule("Stripe key", [b"_live_"], rb"\b(?P<value>[rs]k_live_[A-Za-z0-9]{16,})"),
    _rule("Google key", [b"AIza"], rb"\b(?P<value>AIza[A-Za-z0-9_-]{35})"),
    _rule("PyPI token", [b"pypi-"], rb"\b(?P<value>pypi-[A-Za-z0-9_-]{40,})"),
    _rule("npm token", [b"npm_"], rb"\b(?P<value>npm_[A-Za-z0-9]{36})"),
    _rule("Grafana token", [b"glsa_"], rb"(?P<value>glsa_[A-Za-z0-9_]{20,})"),
    _rule("Docker token", [b"dckr_"], rb"(?P<value>dckr_[po]at_[A-Za-z0-9_-]{20,})"),
    _rule("Databricks token", [b"dapi"], rb"\b(?P<value>dapi[0-9a-f]{32})"),
    _rule("Vault token", [b"hvs."], rb"\b(?P<value>hvs\.[A-Za-z0-9_-]{20,})"),
    _rule("SendGrid key", [b"SG."], rb"\b(?P<value>SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"),
    _rule("GitLab runner token", [b"glrt-"], rb"(?P<value>glrt-[A-Za-z0-9_-]{20,})"),
    _rule("Google token", [b"ya29."], rb"\b(?P<value>ya29\.[A-Za-z0-9_-]{20,})"),
    _rule("Replicate token", [b"r8_"], rb"(?<![A-Za-z0-9_])(?P<value>r8_[A-Za-z0-9]{30,})"),
    _rule(
        "address of a webhook",
        [b"hooks.slack.com/", b"/api/webhooks/"],
        rb"(?:hooks\.slack\.com/services/|/api/webhooks/\d+/)(?P<value>[A-Za-z0-9_/-]{16,})",
    ),
    # As containers state their environment.
    _rule(
        "secret of the environment",
        [b'"value"'],
        rb'"[Nn]ame"\s*:\s*"'
        + _NAME
        + rb'"\s*,\s*"[Vv]alue"\s*:\s*"(?P<value>'
        + _NOTHING
        + rb'[^"]+)',
    ),
    _rule(
        "secret of the environment",
        [b'"value"'],
        rb'"[Vv]alue"\s*:\s*"(?P<value>'
        + _NOTHING
        + rb'[^"]+)"\s*,\s*"[Nn]ame"\s*:\s*"'
        + _NAME
        + rb'"',
    ),
    # As of a Python list of pairs; a list of names has no value.
    _rule(
        "secret of the environment",
        [b"token", b"secret", b"pass", b"key"],
        rb"[\"']"
        + _NAME
        + rb"[\"']\s*,\s*[\"'](?P<value>(?![A-Z0-9_]+[\"'])"
        + _NOTHING
        + _NO_NUMBER
        + _NO_WORD
        + rb"[^\s\"']{6,})",
    ),
    _rule(
        "secret of the environment",
        [b"setenv", b"env"],
        rb"(?:\bsetenv|\bENV)\s+"
        + _NAME
        + rb"\s+[\"']?(?P<value>"
        + _NOTHING
        + _NO_NUMBER
        + _NO_WORD
        + rb"[^\s\"']+)",
    ),
    _rule(
        "secret of the environment",
        [b"configure set "],
        rb"\bconfigure set\s+[\w.-]{0,80}(?:secret|token|key)(?![a-z]|_id\b)[\w.-]{0,80}\s+"
        rb"[\"']?(?P<value>" + _NOTHING + _NO_NUMBER + rb"[^\s\"']+)",
    ),
    _rule(
        "password of a statement",
        [b"identified by"],
        rb"(?:\bIDENTIFIED\s+BY|(?i:\b(?:user|role)\b.{0,200}?\bidentified\s+by))\s+[\"'](?P<value>"
        + _NOTHING
        + rb"[^\"'\r\n]+)",
    ),
    _rule(
        "JSON web token",
        [b"eyJ"],
        rb"(?P<value>eyJ[A-Za-z0-9_-]{8,500}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+)",
    ),
    _rule(
        "authorization header",
        [b"uthorization", b"bearer "],
        rb"(?i:(?:authorization[\"']?\s*[:=]\s*[\"']?(?:(?:Bearer|Basic|Token|Api-?Key)\s+(?=\S)"
        rb"|(?:[\w-]{1,40}\s+)?(?=\S{12})(?=\S{0,99}\d))|bearer\s+(?=\S{16})))"
        rb"(?P<value>" + _NOTHING + rb"[^\s\"']+)",
    ),
    _rule("cookie", [b"cookie:"], rb"(?i:cookie:)\s*(?P<value>" + _NOTHING + rb"[^\r\n\"']+)"),
    # A slash may be part of it, where the first part is no port.
    _rule(
        "password in a URL",
        [b"://"],
        rb"://[^/\s:@\"'\[]*:(?P<value>"
        + _NOTHING
        + rb"(?:[^/\s\"']{1,256}|(?!\d+/)[^\s@\"']{1,256}))@",
    ),
    # Shorter names before the @ are users: ssh://git@host.
    _rule("token in a URL", [b"://"], rb"://(?P<value>" + _NOTHING + rb"[^/\s:@\"']{16,})@"),
    _rule(
        "signature in a URL",
        [b"sig=", b"signature="],
        rb"(?i:[?&](?:sig|x-amz-signature|x-goog-signature)=)(?P<value>"
        + _NOTHING
        + rb"[^&\s\"']{8,})",
    ),
    _rule(
        "password of a registry",
        [b'"auth"', b'"identitytoken"'],
        rb'"(?:auth|identitytoken)"\s*:\s*"(?P<value>[A-Za-z0-9+/=._-]{4,})"',
    ),
    _rule(
        "password in .netrc",
        [b"password "],
        rb"(?:login|user)\s+\S+\s+password\s+(?P<value>" + _NOTHING + rb"\S+)",
    ),
    _rule(
        "password of a command",
        [
            *(b"curl", b"sshpass", b"mysql", b"docker login", b"podman login"),
            *(b"ipmitool", b"redis-cli", b"ldap"),
        ],
        rb"(?:curl\b.{0,300}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']+:"
        rb"|(?:sshpass|(?:docker|podman) login)\b.{0,300}?\s-p[ =]?[\"']?"
        rb"|\bmysql\w*\b.{0,300}?\s-p[\"']?"
        rb"|(?:\bipmitool\b[^|;&\r\n]{0,300}?\s-P|\bredis-cli\b[^|;&\r\n]{0,300}?\s-a"
        rb"|\bldap(?:search|modify|add|delete|whoami)\b[^|;&\r\n]{0,300}?\s-w)[ =\"']+)"
        rb"(?P<value>" + _NOTHING + rb"[^\s\"']+)",
    ),
    _rule(
        "option of a command",
        [b"secret", b"passw", b"passphrase"],
        _NAME_WITH % (rb"--", _PASSWORDS) + _GIVEN + _NOTHING + _QUOTED + rb")",
    ),
    _rule(
        "option of a command",
        [b"token", b"key", b"credential"],
        _NAME_WITH % (rb"--", _TOKENS) + _GIVEN + _NO_NUMBER + _NOTHING + _QUOTED + rb")",
    ),
    _rule(
        "option of a command",
        [b"pass", b"pwd", b"-pw"],
        rb"(?i:(?<![\w-])--(?:pass|"
        + _SHORT
        + rb")(?![\w-]))"
        # The number of a pass.
        + _GIVEN
        + rb"(?!\d{1,3}(?:\s|$))"
        + _NOTHING
        + _QUOTED
        + rb")",
    ),
    _rule(
        "option of a command",
        [b"pass:"],
        rb"-pass(?:in|out)?\s+pass:(?P<value>" + _NOTHING + rb"[^\s\"']+)",
    ),
    _rule(
        "password of a document",
        [b"</"],
        rb"(?i:<[\w:-]{0,40}(?:password|passwd|passphrase|secret|(?:access|auth|api)[_-]?(?:token|key))"
        rb"(?:\s[^<>]{0,200})?>)"
        rb"(?P<value>" + _NOTHING + rb"[^<>\r\n]+)</",
    ),
    _rule(
        "value of a secret's name",
        [b"_pass", b"-pass", b"sshpass", b"pwd", b"pw"],
        rb"(?i:(?<![\w-])" + _SHORT + rb")" + _ASSIGNED + _NOTHING + _QUOTED + rb")",
    ),
    # Of a string for ODBC; the variable PWD is a folder.
    _rule(
        "value of a secret's name",
        [b"pwd"],
        rb"(?:(?<=;)(?i:pwd)|(?<![\w;-])[Pp]wd)=(?P<value>(?![^\s;]*/)"
        + _NOTHING
        + rb"[^\s;\"']+)",
    ),
    _rule(
        "ssh key",
        [b" AAAA"],
        rb"(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]+) (?P<value>AAAA[A-Za-z0-9+/=]{40,})",
    ),
    _rule(
        "secret of the environment",
        [
            *(b"token", b"secret", b"passw", b"passphrase", b"key", b"_pass", b"_pwd"),
            *(b"_jwt", b"_creds", b"dbpass", b"ldappass"),
        ],
        _NAME + _ASSIGNED + _NOTHING + _QUOTED + rb")",
    ),
    _rule(
        "value of a secret's name",
        [b"secret", b"passw", b"passphrase"],
        _NAME_WITH % (rb"", _PASSWORDS) + _ASSIGNED + _NOTHING + _WORD % rb"",
    ),
    # What follows the word token is often a word of a vocabulary or of a message, and no secret.
    _rule(
        "value of a secret's name",
        [b"token", b"key", b"credential"],
        _NAME_WITH % (rb"", _TOKENS)
        + _ASSIGNED
        + _NOTHING
        + _WORD % (_NO_NUMBER + rb"(?:(?<==)|" + _NO_WORD + rb")"),
    ),
)


def is_secret_name(name: str) -> bool:
    """Return whether an environment variable of this name holds a secret."""
    text = name.upper().encode("utf-8", "replace")
    return bool(re.fullmatch(_NAME, text))


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
            small, odd = piece.lower(), _ODD.search(piece)
            rules = [
                rule for rule in self._rules if odd or any(one in small for one in rule.anchors)
            ]
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
            cleaned.append(self._cleaned_line(line, rules))
        return b"\n".join(cleaned)

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
                text = rule.pattern.sub(partial(self._replaced, rule), text)
        return text

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
        begin, end = _KEY_BEGIN.search(text), _KEY_END.search(text)
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
        return {
            key: _MASKED if _is_secret(key, each) else shown(each) for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        before: List[Any] = [None, *value]
        return [
            _MASKED if _is_option_of(last, each) else shown(each)
            for last, each in zip(before, value)
        ]
    return value


def _shown_text(text: str) -> str:
    redacted = Redactor(RULES).redact([text.encode("utf-8", "replace")])
    without = b"".join(redacted).decode("utf-8")
    return _CONTROL.sub(lambda match: ascii(match.group())[1:-1], without)


# Records repeat the words of commands and environments, repeat after repeat and node after node.
_shown_word = lru_cache(maxsize=1 << 12)(_shown_text)


def _is_option_of(last: Any, value: Any) -> bool:
    """Return whether a word of a command is the secret that the option before it names."""
    if not (isinstance(last, str) and isinstance(value, str) and last.startswith("--")):
        return False
    both = f"{last} {value}"
    return bool(shown(last) == last and shown(value) == value and shown(both) != both)


def _is_secret(key: Any, value: Any) -> bool:
    return isinstance(key, str) and isinstance(value, str) and bool(value) and is_secret_name(key)
