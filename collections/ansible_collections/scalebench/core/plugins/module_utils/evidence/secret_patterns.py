"""What secrets look like: tokens of known forms, values whose names say that they are secret."""

from __future__ import annotations

import re
from typing import List, Mapping, NamedTuple, Pattern, Sequence, Tuple

__all__ = ["HARMLESS", "Rule", "is_secret_name", "patterns"]


class Rule(NamedTuple):
    """One kind of secret. Only a text with one of the ``anchors`` in it is searched.

    Group ``value`` of the pattern is the secret; the rest of a match says what it is.
    """

    kind: str
    anchors: Tuple[bytes, ...]
    pattern: Pattern[bytes]


def _rule(kind: str, anchors: Sequence[bytes], pattern: bytes) -> Rule:
    return Rule(kind, tuple(anchors), re.compile(pattern))


# A word that goes on means something else: TOKENIZERS_PARALLELISM, KEYRING.
_NAME = rb"[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|KEY)(?![A-Z])[A-Z0-9_]*"
# The place of a secret is none, nor is the partition key of InfiniBand (NCCL_IB_PKEY).
HARMLESS = re.compile(rb".*_(?:FILE|PATH|DIR|PKEY)")
# An empty value, a reference to a variable, and what stands for a value taken out are no secrets.
_NOTHING = rb"(?!\$|\*|\[redacted|null\b|None\b|[\"',\s])"

# The forms that issuers document, among them
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
    """Return whether a variable of the environment is one whose value is a secret."""
    text = name.upper().encode("utf-8", "replace")
    return bool(re.fullmatch(_NAME, text)) and not HARMLESS.fullmatch(text)


def patterns(environment: Mapping[str, bytes]) -> List[Rule]:
    """Return the rules, with one more for each secret value of the environment that is given.

    Values of less than eight bytes are left out: they would be found everywhere.
    """
    own = [
        _rule(f"value of {name}", [value], rb"(?P<value>" + re.escape(value) + rb")")
        for name, value in sorted(environment.items())
        if is_secret_name(name) and len(value) >= 8
    ]
    return [*own, *RULES]
