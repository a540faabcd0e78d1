"""The forms of secrets in text.

Recognised are tokens of known forms, private keys, and the values of variables whose names mark
them as secret.
"""

from __future__ import annotations

import html
import json
import re
from typing import List, Mapping, NamedTuple, Pattern, Sequence, Tuple

__all__ = ["KEY_BEGIN", "KEY_END", "RULES", "Rule", "is_secret_name", "patterns"]

# Names of secrets: of variables, keys of JSON or YAML, attributes and long options. A longer word
# has another meaning: TOKENIZERS_PARALLELISM, KEYRING, max_tokens. KEY alone counts in capitals.
_PASSWORDS = rb"SECRET|PASSWORD|PASSWD|PASSPHRASE"
_KEYS = rb"(?:API|ACCESS|ACCOUNT|SECRET|PRIVATE|AUTH|SHARED|SIGNING|ENCRYPTION|MASTER|HMAC)[_-]?KEY"
_TOKENS = rb"TOKEN|CREDENTIALS?|" + _KEYS
# Not secret: a secret's path, number or name, and InfiniBand's partition key (NCCL_IB_PKEY).
_HARMLESS = rb"(?!(?i:%s*[_-](?:FILE|PATH|DIR|PKEY|IDS?|COUNT|NAME|TYPE))(?!%s))"
# Looked at once as a whole: a pattern that tries every part of a name takes quadratic time.
_NAME = (
    rb"(?<![A-Za-z0-9_])(?=[A-Z0-9_]*(?:(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|SSHPASS|KEY|REDISCLI_AUTH)(?![A-Z])"
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

# The first and last line of a private key: RFC 7468 and OpenPGP.
KEY_BEGIN = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
KEY_END = re.compile(rb"-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
# What lies between a name and its value, and the beginning of the value. A type may stand before
# the value (HF_TOKEN: str = "..."), and the name be a key in brackets.
_ASSIGNED = (
    rb"(?:\\?[\"']\]?)?(?:\s*:\s?\w{1,20}\s=\s|\s*:\s*(?!\w{1,20}\s=\s)|\s+=>?\s+|\+?=)"
    rb"(?:[bBfFrRuU]{0,2}\\?[\"'])?(?P<value>"
)
# Between two words of a command, or of a list.
_NEXT = rb"(?:[\"']?\s*,\s*[\"']|\s+)"
# Programs, and the option whose word is a password.
_PASSWORD_OPTIONS = (
    (rb"(?:ipmitool|unzip)", rb"-P"),
    (rb"redis-cli", rb"-a"),
    (rb"ldap(?:search|modify|add|delete|whoami)", rb"-w"),
)
# Before an option that is such a word.
_OPTION = rb"(?:\s[\"']?|[\"']\s*,\s*[\"'])"
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
        "OpenAI or Anthropic key",
        [b"sk-"],
        rb"(?<![A-Za-z0-9-])(?=sk-[a-z0-9_-]{0,99}[A-Z])(?P<value>sk-[A-Za-z0-9_-]{20,})",
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
    _rule(
        "secret of the environment",
        [b"value:"],
        rb"\b[Nn]ame:\s*[\"']?"
        + _NAME
        + rb"[\"']?\s*,\s*[Vv]alue:\s*[\"']?(?P<value>"
        + _NOTHING
        + _NO_NUMBER
        + _NO_WORD
        + rb"[^\s\"',}]+)",
    ),
    _rule(
        "password of a document",
        [b"value="],
        rb"(?i:\bname=[\"'][\w.-]{0,80}(?:password|passwd|passphrase|secret)[\"']\s+value=[\"'])"
        rb"(?P<value>" + _NOTHING + rb"[^\s\"'<>]+)[\"']",
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
        [b"configure set ", b"config set "],
        rb"\bconfig(?:ure)? set\s+[\w.-]{0,80}(?:secret|token|password|requirepass"
        rb"|(?:api|access|auth|account|private|secret)[_-]?key)"
        rb"(?![a-z]|[_-](?:id|file|path|dir|name|type)\b)[\w.-]{0,80}\s+"
        rb"[\"']?(?P<value>" + _NOTHING + _NO_NUMBER + rb"[^\s\"']+)",
    ),
    _rule(
        "password of a statement",
        [b"identified by", b"password '", b'password "'],
        rb"(?:\bIDENTIFIED\s+BY|(?i:\b(?:user|role)\b.{0,200}?\bidentified\s+by)"
        rb"|(?i:\b(?:create|alter)\s+(?:user|role)\b.{0,200}?\bpassword))"
        rb"\s+[\"'](?P<value>" + _NOTHING + rb"[^\"'\r\n]+)",
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
        rb"(?:login|user)\s+(?!\S*\[redacted)\S+\s+password\s+(?P<value>" + _NOTHING + rb"\S+)",
    ),
    _rule(
        "password of a command",
        [
            *(b"curl", b"sshpass", b"mysql", b"mariadb", b"docker", b"podman", b"creds"),
            *(b"ipmitool", b"redis-cli", b"ldap", b"wandb", b"vault", b"unzip"),
        ],
        # Its words may be those of a list, as in Python's CalledProcessError.
        rb"(?:(?:curl\b.{0,300}?"
        + _OPTION
        + rb"(?:-[A-Za-z]{0,8}u|--(?:proxy-)?user)|--(?:[a-z]{1,9}-)?creds)(?:"
        + _NEXT
        + rb"|[ =]?[\"']?)[^\s:\"']+:"
        rb"|(?:sshpass|(?:docker|podman)\b[^|;&\r\n]{0,99}?\blogin)\b.{0,300}?"
        + _OPTION
        + rb"-p(?:"
        + _NEXT
        + rb"|[ =]?[\"']?)"
        # Without a space: -p alone asks for the password.
        rb"|\b(?:mysql|mariadb)(?!-(?:client|common|server))\w*\b[^|;&\r\n]{0,300}?"
        rb"(?:\s|[\"']\s*,\s*[\"'])-p[\"']?"
        rb"|(?:"
        + rb"|".join(
            rb"\b" + program + rb"\b[^|;&\r\n]{0,300}?" + _OPTION + option
            for program, option in _PASSWORD_OPTIONS
        )
        + rb")(?:"
        + _NEXT
        + rb"|[ =\"']+)"
        rb"|\b(?:wandb|vault)"
        + _NEXT
        # A list of such commands has no secret.
        + rb"login(?:[\"']\s*,\s*[\"'](?![^\"']{0,99}\s)|\s+[\"']?)(?![-\"'\s]))"
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
    # Of a string for ODBC, or options of mount; the variable PWD is a folder.
    _rule(
        "value of a secret's name",
        [b"pwd", b"pass="],
        rb"(?:(?<=[;,])(?i:pwd|pass)|(?<![\w;-])[Pp]wd)=(?P<value>(?![^\s;]{0,256}/)"
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
            *(b"_jwt", b"_creds", b"dbpass", b"ldappass", b"rediscli_auth"),
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
    own = []
    for name, value in sorted(environment.items()):
        if is_secret_name(name) and len(value) >= 8:
            spelt = _spellings(value)
            pattern = rb"(?P<value>" + rb"|".join(map(re.escape, spelt)) + rb")"
            own.append(_rule(f"value of {name}", spelt, pattern))
    return [*own, *RULES]


def _spellings(value: bytes) -> List[bytes]:
    """Return a value as it stands in text, JSON and HTML or XML, the longest first."""
    text = value.decode("utf-8", "surrogateescape")
    every = {text, *(json.dumps(text, ensure_ascii=only)[1:-1] for only in (True, False))}
    escaped = html.escape(text, quote=False)
    # Without quotes, as XML's attributes, Python's html and Jinja's pages.
    for double, single in (('"', "'"), ("&quot;", "'"), ("&quot;", "&#x27;"), ("&#34;", "&#39;")):
        every.add(escaped.replace('"', double).replace("'", single))
    spelt = {one.encode("utf-8", "surrogateescape") for one in every}
    return sorted(spelt, key=len, reverse=True)
