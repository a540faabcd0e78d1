"""What the cells of a matrix vary in: one table, read by everything that handles a factor.

Options, the schema of benchmark files, placeholders, log paths, identity, comparison, history and
report take the names of factors from here. A benchmark file may declare factors of its own
(``factors:``); :func:`own_factor` makes them entries of the same type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

__all__ = [
    "FACTORS",
    "MAX",
    "PARSERS",
    "Factor",
    "factor_names",
    "factor_values",
    "own_factor",
    "parse_batch_size",
    "parse_count",
    "parse_flag",
    "parse_text",
]

# As a batch size: the largest that runs, to be searched.
MAX = "max"
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)


def parse_text(value: Any) -> str:
    """Return a text without spaces around it.

    :raises ValueError: it is empty or no text.
    """
    if not isinstance(value, str) or not value.strip():
        raise ValueError("is empty")
    return value.strip()


def parse_count(value: Any) -> int:
    """Return a whole number of at least 1.

    :raises ValueError: it is something else.
    """
    try:
        number = (
            None if isinstance(value, bool) or not isinstance(value, (int, str)) else int(value)
        )
    except ValueError:
        number = None
    if number is None:
        raise ValueError("is not a whole number")
    if number < 1:
        raise ValueError("is below 1")
    return number


def parse_flag(value: Any) -> bool:
    """Return true or false, also from ``yes``, ``no``, ``on`` and ``off``.

    :raises ValueError: it is something else.
    """
    if isinstance(value, bool):
        return value
    if str(value).strip().lower() not in _FLAGS:
        raise ValueError("is neither true nor false")
    return _FLAGS[str(value).strip().lower()]


def parse_batch_size(value: Any) -> Any:
    """Return a batch size in samples, or :data:`MAX`.

    :raises ValueError: it is something else.
    """
    if value == MAX:
        return value
    try:
        return parse_count(value)
    except ValueError as error:
        raise ValueError(f"{error}, nor {MAX}") from None


# The types that a benchmark file may give its own factors.
PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "count": parse_count,
    "flag": parse_flag,
    "text": parse_text,
}


@dataclass(frozen=True)
class Factor:
    """One entry of the table.

    ``title``: its name in a sentence, ``{}`` standing for the value where the order matters.
    ``token``: how the variant in a log's path names a value, ``{}`` standing for it; empty where
    the path names it elsewhere. ``plain``: the value that the path does not mention; None where
    the benchmark's defaults say which one that is. ``words``: the values that are recognised in the
    path of a log that Scalebench did not write.
    ``choices``: a recipe lists the values that may be asked for. ``in_log``: a log states it, and
    must not contradict its cell. ``decisive``: figures that differ in it are not comparable.
    ``memory``: the memory of a device depends on it.
    """

    name: str
    parse: Callable[[Any], Any]
    title: str
    token: str = ""
    plain: Any = None
    words: Tuple[str, ...] = ()
    choices: bool = False
    in_log: bool = False
    decisive: bool = True
    memory: bool = True


# In the order in which a path names them and a matrix combines them.
FACTORS: Tuple[Factor, ...] = (
    Factor("precision", parse_text, "precision {}", choices=True, in_log=True),
    Factor(
        *("batch_size_per_device", parse_batch_size, "batch size {} per device"),
        token="bz{}",
        in_log=True,
        memory=False,
    ),
    Factor("xla", parse_flag, "XLA", token="xla", plain=False, words=("xla",), choices=True),
    Factor(
        *("data_backend", parse_text, "data backend {}"),
        token="{}",
        plain="native",
        words=("dali", "tfrecord", "recordio"),
        choices=True,
    ),
    Factor(
        *("data", parse_text, "{} data"),
        token="{}",
        plain="synthetic",
        words=("real",),
        choices=True,
        in_log=True,
    ),
    Factor("image_size", parse_count, "{} pixels", token="{}px", in_log=True),
    Factor(
        *("framework_version", parse_text, "framework version {}"),
        token="v{}",
        choices=True,
        decisive=False,
    ),
    Factor(
        *("mode", parse_text, "mode {}"),
        token="{}",
        plain="train",
        choices=True,
        decisive=False,
    ),
)


def factor_names(
    declared: Iterable[Factor] = (), wanted: Optional[Callable[[Factor], bool]] = None
) -> List[str]:
    """Return the names of the table's factors and of those declared, in order.

    :param wanted: which of them, by default all.
    """
    return [one.name for one in (*FACTORS, *declared) if wanted is None or wanted(one)]


def factor_values(cell: Mapping[str, Any]) -> Dict[str, Any]:
    """Return all factors of a cell with their values: the table's, then the benchmark's own.

    :param cell: a planned or measured cell; a factor that it does not have is None.
    """
    values = {factor.name: cell.get(factor.name) for factor in FACTORS}
    return {**values, **(cell.get("own_factors") or {})}


def own_factor(name: str, declared: Mapping[str, Any], reserved: Sequence[str] = ()) -> Factor:
    """Return the factor that a benchmark file declares under ``factors:``.

    :param declared: ``type`` (a name in :data:`PARSERS`), ``token`` (how the log path names a
        value, with ``{}`` in it; a flag's without), and optionally ``title``, ``in_log``,
        ``decisive`` and ``memory``.
    :param reserved: names that something else has.
    :raises ValueError: what is wrong with the name or the declaration.
    """
    if not _NAME.fullmatch(str(name)):
        raise ValueError(f"{name!r} is no name of a factor: lower-case letters, digits and _")
    if name in {*factor_names(), *reserved}:
        raise ValueError(f"{name} is the name of something else")
    if not isinstance(declared, Mapping):
        raise ValueError(f"{name}: a mapping with type and token is needed, not {declared!r}")
    known = ("type", "token", "title", "in_log", "decisive", "memory")
    unknown = sorted(str(key) for key in declared if key not in known)
    if unknown:
        raise ValueError(f"{name}: unknown key {unknown[0]}; known: {', '.join(known)}")
    kind, token = declared.get("type"), declared.get("token")
    if kind not in PARSERS:
        raise ValueError(f"{name}.type: {kind!r} is not one of {', '.join(PARSERS)}")
    if not isinstance(token, str) or ("{}" in token) == (kind == "flag"):
        form = "a word without {}" if kind == "flag" else "a word with {} for the value"
        raise ValueError(f"{name}.token: {token!r}: {form} is needed")
    flags = {}
    for key in ("in_log", "decisive", "memory"):
        if key in declared:
            if not isinstance(declared[key], bool):
                raise ValueError(f"{name}.{key}: {declared[key]!r} is neither true nor false")
            flags[key] = declared[key]
    return Factor(
        name,
        PARSERS[str(kind)],
        str(declared.get("title", f"{name.replace('_', ' ')} {{}}")),
        token=token,
        plain=False if kind == "flag" else None,
        **flags,
    )
