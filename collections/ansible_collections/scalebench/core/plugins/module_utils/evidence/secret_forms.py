"""The forms of secrets in text.

Recognised are tokens of known forms, private keys, and the values of variables whose names mark
them as secret.
"""

from __future__ import annotations

import html
import json
import re
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

__all__ = [
    "BLOCK_OF_YAML",
    "KEY_BEGIN",
    "KEY_END",
    "LOGIN_PROGRAMS",
    "NAME_ON_ITS_OWN_LINE",
    "RULES",
    "VALUE_ON_THE_NEXT_LINE",
    "Rule",
    "is_secret_key",
    "is_secret_name",
    "line_of_block",
    "patterns",
]

# Names of secrets: of variables, keys of JSON or YAML, attributes and long options. A longer word
# has another meaning: TOKENIZERS_PARALLELISM, KEYRING, max_tokens. KEY alone counts in capitals.
_WORDS = rb"PASSWORD|PASSWD|PASS[_-]?PHRASE"
_PASSWORDS = rb"SECRET|" + _WORDS
# Who issues tokens and keys that variables and options are named after.
_ISSUERS = (
    rb"(?:HF|HUGGING_?FACE|WANDB|NGC|NVIDIA|KAGGLE|COMET|NEPTUNE|MLFLOW|CLEARML|OPENAI|ANTHROPIC"
    rb"|GITHUB|GH|GHCR|GITLAB|AZURE|AWS|GOOGLE|DATABRICKS|DOCKER|NPM|PYPI|SLACK|VAULT|JUPYTER)"
)
_KEYS = (
    rb"(?:API|ACCESS|ACCOUNT|SECRET|PRIVATE|AUTH|SHARED|SIGNING|ENCRYPTION|MASTER|HMAC|FERNET|WANDB"
    rb"|KAGGLE)[_-]?KEY"
)
# In the plural others are vocabularies and keys of mappings: special_tokens, shared_keys.
_PLURALS = (
    rb"(?:API|ACCESS|SECRET|PRIVATE)[_-]?KEYS|(?:" + _ISSUERS + rb"|API|ACCESS|AUTH)[_-]?TOKENS"
)
_TOKENS = rb"TOKEN|CREDENTIALS?|" + _KEYS + rb"|" + _PLURALS
# Not secret: a secret's path, number or name, InfiniBand's partition key (NCCL_IB_PKEY), and the
# special tokens of language models, by the names of Hugging Face's tokenizers.
_HARMLESS = (
    rb"(?!(?i:%s*[_-](?:FILE|PATH|DIR|PKEY|IDS?|COUNT|NAME|TYPE|LENGTH)"
    rb"|(?:%s*[_-])?(?:BOS|EOS|UNK|SEP|PAD|CLS|MASK)[_-]TOKEN)(?!%s))"
)
# Looked at once as a whole: a pattern that tries every part of a name takes quadratic time.
_CAPITALS = (
    rb"(?<![A-Za-z0-9_])(?=[A-Z0-9_]{3})(?=[A-Z0-9_]*(?:%s))"
    + _HARMLESS % ((rb"[A-Z0-9_]",) * 3)
    + rb"[A-Z0-9_]+"
)
_NAME = _CAPITALS % (
    rb"(?:TOKEN|SECRET|PASSWORD|PASSWD|PASS_?PHRASE|SSHPASS|KEY|"
    + _PLURALS.replace(rb"[_-]?", rb"_")
    + rb")(?![A-Z])|(?:_PASS|_PWD|_JWT|_CREDS|(?:DB|LDAP|USER)PASS|REDISCLI_AUTH"
    # A personal access token; else PAT is a pattern.
    rb"|(?:" + _ISSUERS + rb"|DEVOPS_EXT)_PAT)(?![A-Z0-9_])"
)
# The value may be the name of a method too: AUTH=none.
_NAME_OF_AUTH = _CAPITALS % rb"_AUTH(?![A-Z0-9_])"
_NAME_WITH = (
    rb"(?<![\w-])%s(?=(?i:[\w-]*(?:TOKEN|KEY|CREDENTIAL|SECRET|PASS)))(?=(?i:[\w-]*(?:%s)(?![a-z])))"
    + _HARMLESS % ((rb"[\w-]",) * 3)
    + rb"[\w-]+"
)
# As they stand in text, in JSON, which may be in JSON in turn, and in HTML or XML.
_ENTITY = rb"&(?:quot|apos|#3[49]|#x2[27]);"
_QUOTE = rb"(?:\\{0,7}[\"']|\\{1,7}u002[27]|" + _ENTITY + rb")"
_COLON = rb"(?::|\\{1,7}u003[Aa]|&#(?:58|x3[Aa]);)"
_EQUALS = rb"(?:=|\\{1,7}u003[Dd](?!\\{1,7}u003(?:[Dd]\s|[Cc]))|&#(?:61|x3[Dd]);)"
# Pages have blanks where no line breaks (U+00A0).
_BLANK = rb"(?:\s|\xc2\xa0)"
# Of YAML: behind it a line ends, and the value stands on the next ones, further in.
_INDICATOR = rb"(?:![\w!-]{1,40}[ ]{1,9})?[|>][1-9+-]{0,2}[ ]{0,99}(?:[ ]#[^\r\n]{0,200})?\r?$"
# A call, as SecretStr('...'), and one that looks something up, as in the lines of a traceback:
# os.environ.get("HF_TOKEN").
_CALL = rb"[A-Za-z_][\w.]{0,40}\("
_LOOKUP = (
    rb"(?:[A-Za-z_][\w.]{0,40}\.)?"
    rb"(?:(?:get|getenv|pop|encode|decode|getpass|input|prompt)\(|environ\[)[\"']"
)
_MASK = rb"\[redacted|\*+(?![^\s\"',;&)}\]])"
# Not secret: an empty value, a reference to a variable, a value that is already masked.
_NOTHING = (
    rb"(?!"
    + _INDICATOR
    + rb"|\(null\)|\$(?:[A-Z_][A-Z0-9_]*|\{\w+\})(?![^\s\"',;&)}\]])|\$\(|"
    + _MASK
    + rb"|"
    + _CALL
    + rb"[bBfFrRuU]{0,2}[\"'](?:[\"']|"
    + _MASK
    + rb")|"
    + _LOOKUP
    + rb"|null\b|None\b|(?i:true|false)\b|(?i:[bfru]{0,2})"
    + _QUOTE
    + rb"|[,\s])"
)
_NO_NUMBER = rb"(?![\d.,]+(?:\s|$))"
_NO_VARIABLE = rb"(?![A-Z][A-Z0-9]*_[A-Z0-9_]+(?!\w))"
# What is no word of a message: it has a digit, or small and capital letters.
_NO_WORD = rb"(?:(?=\S{0,99}\d)|(?=[^\sa-z]{0,99}[a-z][^\sA-Z]{0,99}[A-Z]))"
# A key of random characters: a digit, small and capital letters, or hexadecimal; no path.
_RANDOM = (
    rb"(?!~?/[a-z][\w.-]{0,60}/)(?:(?=[\w+/-]{0,99}\d)(?=[A-Z0-9_+/-]{0,99}[a-z])(?=[a-z0-9_+/-]{0,99}[A-Z])"
    rb"|(?=[0-9a-f]{32}))[\w+/-]{16,}=*(?![\w.+/-])"
)
# Who or what has a password whose name ends in a short word: ansible_become_pass, db-pwd.
_OWNERS = (
    rb"(?:become|sudo|su|ssh|user|root|admin|login|db|database|mysql|pgsql|postgres|redis|mongo|sql"
    rb"|ldap|bind|smtp|mail|ftp|http|https|proxy|registry|vault|ipmi|bmc|keystore|key|cert"
    # Of a scheduler's accounting.
    rb"|(?:Accounting)?Storage|JobComp)"
)
_SHORT = rb"(?:(?:[\w-]*[_-])?" + _OWNERS + rb"[_-]?(?:pass|pwd|pw)|sshpass|bindpw)(?![\w-])"
# A value in quotes, which end it where they are not escaped, or a word. A separator ends the word
# before a space or the next name only; else it is a character of a password.
_IN_QUOTES = (
    rb"(?<=\\[\"'])[^\"'\r\n\\]+|(?<=[^\\]\")(?:[^\"\\\r\n]|\\.)+|(?<=[^\\]')(?:[^'\\\r\n]|\\.|'')+"
    rb"|(?:(?<=&quot;)|(?<=&apos;)|(?<=&#3[49];)|(?<=&#x2[27];))(?:(?!" + _ENTITY + rb")[^\r\n])+"
)
_REST = rb"(?:(?!\[redacted)[^\s\"',;&}\\]|[,;&](?![\w.-]+=|[\s\"']|$)|\}(?=\w)|\\(?![nrt\"'\s]|$))"
_QUOTED = rb"(?:" + _IN_QUOTES + rb"|" + _REST + rb"+)"
# A value in quotes, or a word of some length that is no list.
_WORD = rb"(?:" + _IN_QUOTES + rb"|%s(?:(?![<\[({])" + _REST + rb"){6}" + _REST + rb"*))"

# The first and last line of a private key: RFC 7468 and OpenPGP.
KEY_BEGIN = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
KEY_END = re.compile(rb"-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
# What lies between a name and its value, and the beginning of the value. A type may stand before
# the value (HF_TOKEN: str = "..."), the name be a key in brackets, and the value in a call
# (hf_token=SecretStr('...')).
_ASSIGNED = (
    rb"(?:"
    + _QUOTE
    + rb"\]?)?"
    + (
        rb"(?:%(_)s*%(colon)s%(_)s?\w{1,20}%(_)s=%(_)s"
        rb"|%(_)s*%(colon)s(?:=|(?!=))%(_)s*(?!\w{1,20}%(_)s=%(_)s)"
        rb"|%(_)s+%(equals)s>?%(_)s+|\+?%(equals)s(?:=?>%(_)s*|(?!=?>)))"
        % {b"_": _BLANK, b"colon": _COLON, b"equals": _EQUALS}
    )
    + rb"(?:(?:(?!"
    + _LOOKUP
    + rb")"
    + _CALL
    + rb"(?=[bBfFrRuU]{0,2}[\"']))?[bBfFrRuU]{0,2}"
    + _QUOTE
    + rb")?(?P<value>"
)
# Names of nothing but a secret, to their end: hf_token, but neither token nor hf_token_ttl.
_PRECISE = (
    # The last letters are looked at first, which is fast, since most words of a log end otherwise.
    rb"(?<![\w-])(?=[\w-]{3,}(?![\w-])(?i:(?<=token)|(?<=tokens)|(?<=key)|(?<=keys)|(?<=secret)"
    rb"|(?<=word)|(?<=wd)|(?<=phrase)|(?<=pass)))(?=(?i:[\w-]*(?:\w[_-]?SECRET|"
    + _WORDS
    + rb"|"
    + _OWNERS
    + rb"[_-]?(?:PASS|PWD)|"
    + _KEYS
    + rb"|(?:"
    + _ISSUERS
    + rb"|HUB|API|ACCESS|AUTH|SESSION|REFRESH|BEARER|SECURITY|BOT|TRACKING)[_-]?TOKEN|"
    + _PLURALS
    + rb")(?![\w-])))[\w-]+"
)
# The same as a key, where quotes end it.
_NAME_IN_QUOTES = rb"(?:" + _PRECISE + rb"|(?i:" + _SHORT + rb"))"
# Of a table, also as Unicode draws it.
_BAR = rb"(?:\||\xe2\x94[\x82\x83]|\xe2\x95\x91)"
# What lies between such a name and its value in dumps of arguments (Megatron-LM, DeepSpeed), tables
# and messages. Words, numbers, versions, dates, paths and names of variables are no secret there.
_LOOSELY = (
    rb"(?:"
    + _QUOTE
    + rb"|`)?(?:[ \t]{0,99}(?:\.{2,}:?|"
    + _BAR
    + rb"|[-=]{1,2}>)[ \t]{0,99}|[ \t]\.[ \t]|[ \t]{2,99}|\t"
    rb"|[ \t](?:(?:is|was)[ \t])?set[ \t]to[ \t]|[ \t]?\((?:default[:=]?[ \t]?|\w{1,20}\):[ \t]?)"
    rb"|\][ \t]?[:=][ \t]?)(?:" + _QUOTE + rb"|`)?"
)
_NO_MESSAGE = (
    rb"(?=\S{0,99}\d)(?![=:>|.-]|v?\d{1,4}[.:/-]\d[\w.:/+-]{0,40}(?:[\s|]|$)|~?/[a-z][\w.-]{0,60}/|\w{2,9}://"
    rb"|[\d.,]+(?:[\s)|]|$)|[a-z]{1,40}\()" + _NO_VARIABLE
)
# Between two words of a command, or of a list.
_NEXT = rb"(?:[\"']?\s*,\s*[\"']|\s+)"
# Programs, and the option whose word is a password.
_PASSWORD_OPTIONS = (
    (rb"(?:ipmitool|unzip)", rb"-P"),
    (rb"redis-cli", rb"-a"),
    (rb"ldap(?:search|modify|add|delete|whoami)", rb"-w"),
)
# Programs whose login has the password behind -p.
LOGIN_PROGRAMS = (
    *("docker", "podman", "nerdctl", "buildah", "skopeo", "crane", "oras", "helm"),
    *("apptainer", "singularity", "az", "oc"),
)
# What reads a password from its input.
_READING = (
    rb"(?:--password-stdin|--with-token|\bpasswd\b[^|\r\n]{0,99}?--stdin"
    rb"|\bsudo(?:\s{1,9}-[\w-]{1,20}){0,9}?\s{1,9}(?:--stdin|-[A-Za-z]{0,9}S[A-Za-z]{0,9}))(?![\w-])"
)
# Before an option that is such a word.
_OPTION = rb"(?:\s[\"']?|[\"']\s*,\s*[\"'])"
# The same of an option, also as words of a list.
_GIVEN = rb"(?:[\"'],\s*|\s+|=)[\"']?(?P<value>(?!-)"
# Of a pair of name and value, as containers state their environment: what lies behind these two
# words, and each of the two; without quotes the value is no word or short number.
_IN_PAIR = _QUOTE + rb"?\s*:\s*" + _QUOTE + rb"?"
_NAME_OF_PAIR = rb"(?:[Nn]ame|[Kk]ey)" + _IN_PAIR + rb"(?:" + _NAME + rb"|" + _PRECISE + rb")"
_VALUE_OF_PAIR = (
    rb"[Vv]alue"
    + _IN_PAIR
    + rb"(?P<value>"
    + _NOTHING
    + rb"(?:"
    + _IN_QUOTES
    + rb"|(?![\d.,]{1,7}(?:[\s}]|$))"
    + _NO_WORD
    + _REST
    + rb"{1,256}))"
)
# The same on two lines, as Kubernetes prints YAML and JSON: the end of the first, without what
# separates it from the next.
NAME_ON_ITS_OWN_LINE = rb"\b" + _NAME_OF_PAIR + _QUOTE + rb"?$"

# The line before a block scalar of YAML: what a launcher writes before each line, and the name.
BLOCK_OF_YAML = (
    rb"(?P<before>(?:[^\s|]\S{0,80}[:>\]|])?)[ ]{0,200}(?:-[ ]{1,9}){0,9}"
    rb"(?P<name>[\"']?[\w.-]{1,100}[\"']?)[ ]{0,9}:[ ]{1,9}" + _INDICATOR
)
# What a line of it is where its name is a password's, and of a token's, which may be a text. A
# reference is none, nor is what is masked.
_LINE = (
    rb"^[ ]+(?P<value>"
    rb"(?!\[redacted|(?:\*+|\$(?:[A-Z_][A-Z0-9_]*|\{\w+\})|\{\{.*\}\}|<[^<>]*>)\s*$)%s)\s*$"
)
_LINE_OF_PASSWORD = _LINE % rb"\S(?:.*\S)?"
_LINE_OF_TOKEN = _LINE % (_NO_NUMBER + _NO_WORD + rb"(?!\w{2,9}://|~?/[a-z][\w.-]{0,60}/)\S{6,}")


class Rule(NamedTuple):
    """One kind of secret. Only a line that contains one of the ``anchors`` is searched.

    Anchors are in small letters, and looked for in the line in small letters.

    Group ``value`` of the pattern is the secret; the rest of the match identifies it. It is
    compiled when a line has an anchor: all of them take 0.1 s, in each process.
    """

    kind: str
    anchors: Tuple[bytes, ...]
    pattern: bytes


def _rule(kind: str, anchors: Sequence[bytes], pattern: bytes) -> Rule:
    return Rule(kind, tuple(word.lower() for word in anchors), pattern)


# The formats that issuers document, among them
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html,
# https://docs.github.com/en/authentication, RFC 7519 (JSON web token) and RFC 4253 (ssh key).
_ISSUED = (
    ("AWS access key", [b"AKIA", b"ASIA"], rb"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    (
        "GitHub token",
        [b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"],
        rb"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}",
    ),
    (
        "GitLab token",
        [
            *(b"glpat-", b"gldt-", b"glptt-", b"glcbt-", b"glft-", b"glsoat-", b"glagent-"),
            *(b"gloas-", b"glimt-", b"glffct-", b"glwt-"),
        ],
        rb"gl(?:pat|dt|ptt|cbt|ft|soat|agent|oas|imt|ffct|wt)-[A-Za-z0-9_-]{20,}",
    ),
    ("Hugging Face token", [b"hf_"], rb"(?<![A-Za-z0-9_])hf_[A-Za-z0-9]{30,}"),
    ("NGC key", [b"nvapi-"], rb"nvapi-[A-Za-z0-9_-]{20,}"),
    (
        "Weights & Biases key",
        [b"wandb_v1_", b"local-"],
        # Behind a colon it is the tag of an image: local- and a commit.
        rb"wandb_v1_[A-Za-z0-9_]{40,}|(?<![\w:/.-])local-[0-9a-f]{40}(?!\w)",
    ),
    (
        "Slack token",
        [b"xox", b"xapp-"],
        rb"\b(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,})",
    ),
    (
        "OpenAI or Anthropic key",
        [b"sk-"],
        rb"(?<![A-Za-z0-9-])(?=sk-[a-z0-9_-]{0,99}[A-Z])sk-[A-Za-z0-9_-]{20,}",
    ),
    (
        "DeepSeek or OpenRouter key",
        [b"sk-"],
        rb"(?<![A-Za-z0-9-])sk-(?:or-v1-)?[0-9a-f]{32,}(?![\w-])",
    ),
    ("Groq key", [b"gsk_"], rb"(?<![A-Za-z0-9_])gsk_[A-Za-z0-9]{32,}"),
    ("xAI key", [b"xai-"], rb"(?<![\w-])xai-[A-Za-z0-9_]{32,}"),
    ("Stripe key", [b"_live_"], rb"\b[rs]k_live_[A-Za-z0-9]{16,}"),
    (
        "Google key",
        [b"AIza", b"GOCSPX-"],
        rb"\b(?:AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,})",
    ),
    ("PyPI token", [b"pypi-"], rb"\bpypi-[A-Za-z0-9_-]{40,}"),
    ("npm token", [b"npm_"], rb"\bnpm_[A-Za-z0-9]{36}"),
    (
        "Grafana token",
        [b"glsa_", b"glc_"],
        rb"(?<!\w)(?:glsa_[A-Za-z0-9_]{20,}|glc_[A-Za-z0-9+/]{40,}=*)",
    ),
    ("Docker token", [b"dckr_"], rb"dckr_[po]at_[A-Za-z0-9_-]{20,}"),
    ("Databricks token", [b"dapi"], rb"\bdapi[0-9a-f]{32}"),
    (
        "DigitalOcean token",
        [b"dop_v1_", b"doo_v1_", b"dor_v1_"],
        rb"(?<!\w)do[opr]_v1_[0-9a-f]{40,}",
    ),
    ("Atlassian token", [b"ATATT3", b"ATCTT3"], rb"(?<!\w)AT[AC]TT3[A-Za-z0-9_=-]{20,}"),
    ("Vault token", [b"hvs.", b"hvb.", b"hvr."], rb"\bhv[sbr]\.[A-Za-z0-9_-]{20,}"),
    ("SendGrid key", [b"SG."], rb"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("GitLab runner token", [b"glrt-"], rb"glrt-[A-Za-z0-9_-]{20,}"),
    ("Google token", [b"ya29."], rb"\bya29\.[A-Za-z0-9_-]{20,}"),
    ("Replicate token", [b"r8_"], rb"(?<![A-Za-z0-9_])r8_[A-Za-z0-9]{30,}"),
    ("Docker Swarm token", [b"SWMTKN-"], rb"\bSWMTKN-\d-[a-z0-9]{20,}-[a-z0-9]{20,}"),
    ("K3s token", [b"::server:"], rb"\bK10[0-9a-f]{64}::server:[^\s\"']+"),
    ("OpenShift token", [b"sha256~"], rb"\bsha256~[A-Za-z0-9_-]{40,}"),
    ("Tailscale key", [b"tskey-"], rb"\btskey-[a-z]{2,12}-[A-Za-z0-9-]{16,}"),
    ("Prefect key", [b"pnu_", b"pnb_"], rb"(?<!\w)pn[ub]_[A-Za-z0-9]{30,}"),
    ("LangSmith key", [b"lsv2_"], rb"(?<!\w)lsv2_[a-z]{2}_[0-9a-f]{32}\w*"),
    ("Together key", [b"tgp_v1_"], rb"(?<!\w)tgp_v1_[A-Za-z0-9_-]{30,}"),
    ("Perplexity key", [b"pplx-"], rb"(?<![\w-])pplx-[A-Za-z0-9]{40,}"),
    ("RunPod key", [b"rpa_"], rb"(?<!\w)rpa_[A-Za-z0-9]{40,}"),
    ("Amazon Bedrock key", [b"ABSK"], rb"(?<!\w)ABSK[A-Za-z0-9+/]{60,}=*"),
    (
        "JFrog token",
        [b"AKCp", b"cmVmdGtu"],
        rb"(?<!\w)(?:AKCp[A-Za-z0-9]{60,}|cmVmdGtu[A-Za-z0-9]{50,})",
    ),
    ("Sentry token", [b"sntrys_", b"sntryu_"], rb"(?<!\w)sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    ("age key", [b"AGE-SECRET-KEY-1"], rb"AGE-SECRET-KEY-1[A-Za-z0-9]{20,}"),
    # crypt(5), with the length of each hash; PHC string format of Argon2.
    (
        "password hash",
        [
            *(b"$1$", b"$apr1$", b"$5$", b"$6$", b"$y$", b"$gy$", b"$7$"),
            *(b"$2a$", b"$2b$", b"$2y$", b"$argon2"),
        ],
        rb"(?<![\w$])\$(?:(?:1|apr1)\$[./A-Za-z0-9]{1,8}\$(?!/[a-z]+/)[./A-Za-z0-9]{22}"
        rb"|[56]\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,16}\$(?:[./A-Za-z0-9]{86}|[./A-Za-z0-9]{43})"
        rb"|g?y\$[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}"
        rb"|7\$[./A-Za-z0-9]{11,97}\$[./A-Za-z0-9]{43}"
        rb"|2[aby]\$\d\d\$[./A-Za-z0-9]{53}"
        rb"|argon2(?:id?|d)\$(?:v=\d{1,3}\$)?m=[\w=,]{1,99}\$[A-Za-z0-9+/]{4,99}\$[A-Za-z0-9+/]{16,})"
        # A point may end the sentence.
        rb"(?![\w/$]|\.[\w./$])",
    ),
    ("MUNGE credential", [b"MUNGE:"], rb"(?<=\bMUNGE:)[A-Za-z0-9+/]{20,}=*"),
)

RULES = (
    *(_rule(kind, anchors, rb"(?P<value>" + pattern + rb")") for kind, anchors, pattern in _ISSUED),
    _rule(
        "Kaggle key",
        [b"username"],
        _QUOTE.join([b"username", rb"\s*:\s*", rb"[\w.@-]{1,80}", rb"\s*,\s*", b"key", rb"\s*:\s*"])
        + _QUOTE
        + rb"(?P<value>[0-9a-f]{32,64})"
        + _QUOTE,
    ),
    _rule(
        "address of a webhook",
        [b"hooks.slack.com/", b"/api/webhooks/", b"/IncomingWebhook/", b"api.telegram.org/bot"],
        rb"(?:hooks\.slack\.com/(?:services|triggers|workflows)/|/api/webhooks/\d+/|/IncomingWebhook/"
        rb"|api\.telegram\.org/bot\d+:)(?P<value>[A-Za-z0-9_/-]{16,})",
    ),
    # As containers state their environment.
    _rule(
        "secret of the environment",
        [b"value"],
        rb"\b" + _NAME_OF_PAIR + _QUOTE + rb"?\s*,\s*" + _QUOTE + rb"?" + _VALUE_OF_PAIR,
    ),
    _rule(
        "secret of the environment",
        [b"value"],
        rb"\b" + _VALUE_OF_PAIR + _QUOTE + rb"?\s{0,9},\s{0,9}" + _QUOTE + rb"?" + _NAME_OF_PAIR,
    ),
    _rule(
        "password of a document",
        [b"value="],
        rb"(?i:\bname=[\"'][\w.-]{0,80}(?:" + _PASSWORDS + rb")[\"']\s+value=[\"'])"
        rb"(?P<value>" + _NOTHING + rb"[^\s\"'<>]+)[\"']",
    ),
    # As of a Python list of pairs; a list of names has no value.
    _rule(
        "secret of the environment",
        [b"token", b"secret", b"pass", b"key"],
        _NAME
        + rb"[\"']?\s*,\s*[\"']?(?P<value>(?<=[\"'])(?![A-Z0-9_]+[\"'])"
        + _NOTHING
        + _NO_NUMBER
        + _NO_WORD
        + rb"[^\s\"']{6,}|"
        + _RANDOM
        + rb"(?!\())",
    ),
    _rule(
        "secret of the environment",
        [b"setenv", b"env", b"export", b"set -"],
        rb"(?:\b(?:setenv|ENV|export)|\bset\s+-g?x)\s+"
        + _NAME
        # Behind an export stands the name of the next variable.
        + rb"\s+[\"']?(?P<value>"
        + _NO_VARIABLE
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
    # Shorter names before the @ are users: ssh://git@host. GitHub's tokens may have a password.
    _rule(
        "token in a URL",
        [b"://"],
        rb"://(?P<value>" + _NOTHING + rb"[^/\s:@\"']{16,})(?::(?:x-oauth-basic)?)?@",
    ),
    # A slash may be part of it, where the first part is no port.
    _rule(
        "password in a URL",
        [b"://"],
        rb"://[^/\s:@\"'\[]*:(?P<value>"
        + _NOTHING
        + rb"(?:[^/\s\"']{1,256}|(?!\d+/)[^\s@\"']{1,256}))@",
    ),
    # Programs accept proxies without http:// too.
    _rule(
        "password in a URL",
        [b"proxy"],
        rb"(?i:proxy)[\"']?(?:\s{0,9}[:=]\s{0,9}|\s{1,9})[\"']?[^\s:/@\"'\[]{1,100}:(?P<value>"
        + _NOTHING
        + rb"[^/\s\"']{1,256})@",
    ),
    _rule(
        "signature in a URL",
        [b"sig=", b"signature="],
        rb"(?i:[?&](?:amp;)?(?:sig|signature|x-amz-signature|x-goog-signature)=)(?P<value>"
        + _NOTHING
        + rb"[^&\s\"']{8,})",
    ),
    _rule(
        "password of a registry",
        # The output of a command is JSON in JSON where Ansible shows it.
        [b'auth"', b"auth\\", b"identitytoken"],
        rb'"(?:_?auth|identitytoken)\\{0,7}"\s*:\s*\\{0,7}"(?P<value>[A-Za-z0-9+/=._-]{4,})\\{0,7}"',
    ),
    _rule(
        "password in .netrc",
        [b"password "],
        rb"(?:login|user)\s+(?!\S*\[redacted)\S+\s+password\s+(?P<value>" + _NOTHING + rb"\S+)",
    ),
    # On a line of its own, as programs write it.
    _rule(
        "password in .netrc",
        [b"password "],
        rb"^(?:\S{0,40}[:>|])?\s{0,40}password\s{1,9}(?P<value>"
        + _NOTHING
        + _NO_WORD
        + rb"\S{8,})\s*$",
    ),
    # As the shell shows it.
    _rule(
        "password of a command",
        [b"--password-stdin", b"--with-token", b"sudo -", b"--stdin"],
        rb"\b(?:echo|printf)\s(?:\s{0,9}(?:-[a-z]{1,3}|[\"']?%s(?:\\n)?[\"']?)\s)?\s{0,9}[\"']?"
        rb"(?P<value>" + _NOTHING + rb"(?!-)[^\s\"'|]+)[\"']?\s{0,9}\|[^|\r\n]{0,300}?" + _READING,
    ),
    _rule(
        "password of a command",
        [b"<<<"],
        _READING + rb"[^|\r\n]{0,300}?<<<\s{0,9}[\"']?"
        rb"(?P<value>" + _NOTHING + rb"[^\s\"'|]+)",
    ),
    _rule(
        "key of kubeadm",
        [b"certificate-key", b"certificatekey"],
        rb"(?i:certificate-?key)[\"']?[\s=:,]{1,9}[\"']?(?P<value>[0-9a-f]{64})",
    ),
    _rule(
        "key of Hadoop",
        [b".key"],
        rb"(?i:\b(?:secret|account)\.key)(?:\.[\w.-]{1,80})?[\"']?(?:\s{0,9}[=:,]\s{0,9}|\s{1,9})[\"']?"
        rb"(?P<value>" + _NOTHING + _RANDOM + rb")",
    ),
    _rule(
        "secret of Vault, Consul or Nomad",
        [b"secret"],
        rb"(?i:secret[ _-]?id)[\"']?\s{0,40}[=:|]?\s{0,40}[\"']?"
        rb"(?P<value>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})",
    ),
    _rule(
        "secret of Vault, Consul or Nomad",
        [b"unseal key"],
        rb"(?i:\bunseal key)(?:\s\d{1,2})?:\s{0,9}(?P<value>" + _NOTHING + rb"[\w+/=-]{16,})",
    ),
    _rule(
        "token in a URL",
        [b"/t/"],
        rb"(?i:://(?!/)\S{0,60}?conda\S{0,60}/t/)(?P<value>(?!<)[\w-]{8,})",
    ),
    _rule(
        "password of a command",
        [
            *(b"curl", b"sshpass", b"mysql", b"mariadb", b"login", b"creds"),
            *(b"ipmitool", b"redis-cli", b"ldap", b"unzip"),
        ],
        # Its words may be those of a list, as in Python's CalledProcessError.
        rb"(?:(?:curl\b.{0,300}?"
        + _OPTION
        + rb"(?:-[A-Za-z]{0,8}u|--(?:proxy-)?user)|--(?:[a-z]{1,9}-)?creds)(?:"
        + _NEXT
        + rb"|[ =]?[\"']?)[^\s:\"']+:"
        rb"|(?:sshpass|\b(?:"
        + "|".join(LOGIN_PROGRAMS).encode()
        + rb")\b[^|;&\r\n]{0,99}?(?<![\w/.-])login)(?![\w/.-]).{0,300}?"
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
        # Or without a space: a word is another option.
        + rb"|[ =\"']+|"
        + _NO_WORD
        + rb")"
        rb"|\bwandb\.login\([^()\r\n]{0,200}?\bkey\s?=\s?[\"']"
        rb"|\b(?:wandb|vault)"
        + _NEXT
        # A list of such commands has no secret, nor has a message that continues behind an option.
        + rb"login(?:(?:"
        + _NEXT
        + rb"--?[a-z][\w-]{0,30}(?:[ =]https?://[^\s\"'`]{1,200}|=[^\s\"'`]{1,200})?){1,6}(?=[\s\"',]{1,9}\S{0,99}\d))?"
        rb"(?:[\"']\s*,\s*[\"'](?![^\"']{0,99}\s)|\s+[\"']?)(?![-\"'\s]|[a-z_]+=\w))"
        rb"(?P<value>" + _NOTHING + rb"[^\s\"']+)",
    ),
    _rule(
        "option of a command",
        [b"secret", b"passw", b"phrase"],
        _NAME_WITH % (rb"--", _PASSWORDS) + _GIVEN + _NOTHING + _QUOTED + rb")",
    ),
    _rule(
        "option of a command",
        [b"token", b"key", b"credential"],
        # What follows in the help of a program is the name of the value: --hf-token HF_TOKEN.
        _NAME_WITH % (rb"--", _TOKENS)
        + _GIVEN
        + _NO_NUMBER
        + _NO_VARIABLE
        + _NOTHING
        + _QUOTED
        + rb")",
    ),
    _rule(
        "option of a command",
        [b"pass", b"pwd", b"pw"],
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
        rb"(?i:<[\w:-]{0,40}(?:" + _PASSWORDS + rb"|(?:access|auth|api)[_-]?(?:token|key))"
        rb"(?:\s[^<>]{0,200})?>)"
        rb"(?P<value>" + _NOTHING + rb"[^<>\r\n]+)</",
    ),
    _rule(
        "value of a secret's name",
        [b"pass", b"pwd", b"pw"],
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
    # A list of secrets; one of names says what is missing.
    _rule(
        "value of a secret's name",
        [b"token", b"key", b"secret", b"pass", b"pwd"],
        _PRECISE
        + _ASSIGNED
        + rb"\[\s{0,9}"
        + _QUOTE
        + rb"(?![A-Z0-9_]+"
        + _QUOTE
        + rb")[^\]\r\n]+\]?)",
    ),
    _rule(
        "secret of the environment",
        [
            *(b"token", b"secret", b"passw", b"phrase", b"key", b"_pass", b"_pwd"),
            *(b"_jwt", b"_creds", b"dbpass", b"ldappass", b"userpass", b"rediscli_auth", b"_pat"),
        ],
        _NAME + _ASSIGNED + _NOTHING + _QUOTED + rb")",
    ),
    _rule(
        "value of a secret's name",
        [b"secret", b"passw", b"phrase"],
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
    _rule(
        "value of a secret's name",
        [b"_auth"],
        _NAME_OF_AUTH
        + _ASSIGNED
        + _NOTHING
        + _NO_NUMBER
        + rb"(?=[^\s\"'(]{0,99}\d)"
        + _QUOTED
        + rb")",
    ),
    # User and password of .npmrc, in base64.
    _rule(
        "value of a secret's name",
        [b"_auth"],
        rb"(?<![\w.])_auth\s{0,9}=\s{0,9}[\"']?(?P<value>"
        + _NOTHING
        + _NO_NUMBER
        + _NO_WORD
        + rb"[A-Za-z0-9+/_-]{8,}={0,2}(?![\w.(+/]))",
    ),
    # Keys of a server and of storage are names of files and of tensors too.
    _rule(
        "value of a secret's name",
        [b"key"],
        _NAME_WITH % (rb"", rb"(?:TLS|SSL|STORAGE|ENC|SUBSCRIPTION)[_-]?KEY|KEY-DATA")
        + _ASSIGNED
        + _RANDOM
        + rb")",
    ),
    _rule(
        "value of a secret's name",
        [b"token", b"key", b"secret", b"pass", b"pwd"],
        _PRECISE
        + _LOOSELY
        + rb"(?P<value>"
        + _NOTHING
        + _NO_MESSAGE
        + rb"(?:(?![<\[({)|`])"
        + _REST
        + rb"){6,})",
    ),
    # What a lookup in Python takes where nothing is given; the name of a section may stand before.
    _rule(
        "value of a secret's name",
        [b"get(", b"getenv(", b"pop(", b"setdefault(", b"getattr("],
        rb"(?<!\w)(?:(?:get|getenv|pop|setdefault)\(|getattr\([\w.]{1,80},)\s{0,9}"
        rb"(?:"
        + _QUOTE
        + rb"[\w.-]{1,80}"
        + _QUOTE
        + rb"\s{0,9},\s{0,9})?[bBrRuU]{0,2}"
        + _QUOTE
        + rb"(?:"
        + _NAME_IN_QUOTES
        + rb"|(?i:secret)|"
        + _NAME
        + rb")"
        + _QUOTE
        + rb"\s{0,9},\s{0,9}(?:(?:default|fallback)\s?=\s?)?[bBfFrRuU]{0,2}"
        + _QUOTE
        + rb"(?P<value>"
        + _NOTHING
        + rb"(?:"
        + _IN_QUOTES
        + rb"))",
    ),
    # As part of a URL (RFC 3986), whose next part begins with & or a quote.
    _rule(
        "value of a secret's name",
        [b"%3d", b"%3a"],
        _NAME_WITH % (rb"", _PASSWORDS + rb"|" + _TOKENS)
        + rb"(?:%2[27])?(?i:%3[ad])(?:%20|\+)?(?:%2[27])?(?P<value>"
        + _NO_NUMBER
        + rb"(?:[^\s\"'&%\[]|(?i:%(?!2[0267c]|7d|0[ad])[0-9a-f]{2})){6,})",
    ),
)

VALUE_ON_THE_NEXT_LINE = _rule("secret of the environment", [b"value"], rb"\b" + _VALUE_OF_PAIR)


def is_secret_name(name: str) -> bool:
    """Return whether an environment variable of this name holds a secret."""
    text = name.upper().encode("utf-8", "replace")
    return bool(re.fullmatch(_NAME + rb"|" + _NAME_OF_AUTH, text))


def is_secret_key(key: str) -> bool:
    """Return whether the value of a mapping's key is a secret: a variable, or a word as db-pass."""
    return is_secret_name(key) or bool(
        re.fullmatch(_NAME_IN_QUOTES, key.encode("utf-8", "replace"))
    )


_BLOCK_OF_PASSWORD, _BLOCK_OF_TOKEN = (
    _rule("value of a secret's name", [], line) for line in (_LINE_OF_PASSWORD, _LINE_OF_TOKEN)
)


def line_of_block(name: bytes) -> Optional[Rule]:
    """Return the rule of a secret line of a block scalar with this name, if there are any."""
    # As of properties: spring.db.password.
    name = name.strip(b"\"'").rpartition(b".")[2]
    if re.fullmatch(
        _NAME + rb"|" + _NAME_WITH % (rb"", _PASSWORDS) + rb"|(?i:" + _SHORT + rb")", name
    ):
        return _BLOCK_OF_PASSWORD
    token = _NAME_WITH % (rb"", _TOKENS) + rb"|" + _NAME_OF_AUTH
    return _BLOCK_OF_TOKEN if re.fullmatch(token, name) else None


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
