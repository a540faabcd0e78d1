"""What the cells of a matrix vary in: one table, read by everything that handles a factor.

Options, the schema of benchmark files, placeholders, log paths, identity, comparison, history and
report take the names of factors from here. A benchmark file may declare factors of its own
(``factors:``); :func:`own_factor` makes them entries of the same type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypedDict,
    Union,
)

__all__ = [
    "FACTORS",
    "FORMER",
    "LOSS_SCALING",
    "MAX",
    "NO_TREATMENT",
    "STRONG",
    "TREATMENT",
    "WEAK",
    "BatchSize",
    "Factor",
    "Factors",
    "factor_names",
    "factor_values",
    "factor_words",
    "is_strong",
    "missing_value",
    "own_factor",
    "own_values",
    "parse_count",
    "parse_flag",
    "parse_text",
]

# As a batch size: the largest that runs, to be searched.
MAX = "max"
# The factor whose values are the variants that a campaign compares, and the value without any.
TREATMENT, NO_TREATMENT = "treatment", "none"
# How the batch grows with the devices: one of a fixed size on each, or one of a fixed size in all.
WEAK, STRONG = "weak", "strong"
# How the loss is scaled in half or mixed precision, where it is.
LOSS_SCALING = ("dynamic", "static")
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9_.]+", re.ASCII)
_TOPOLOGY = re.compile(r"[0-9]+n[0-9]+g", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9]*(\{\})?[A-Za-z0-9]*", re.ASCII)


def parse_text(value: Any) -> str:
    """Return a text without spaces around it.

    :raises ValueError: it is empty or no text.
    """
    if not isinstance(value, str):
        raise ValueError("is not a text")
    if not value.strip():
        raise ValueError("is empty")
    return value.strip()


def parse_count(value: Any) -> int:
    """Return a whole number of at least 1.

    :raises ValueError: it is something else.
    """
    # int() also takes 1_0 and digits of other scripts.
    is_text = isinstance(value, str) and re.fullmatch("[+-]?[0-9]{1,99}", value)
    if not is_text and (isinstance(value, bool) or not isinstance(value, int)):
        raise ValueError("is not a whole number")
    number = int(value)
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


def _parse_batch_size(value: Any) -> Any:
    """Return a batch size in samples, or :data:`MAX`."""
    if value == MAX:
        return value
    try:
        return parse_count(value)
    except ValueError as error:
        raise ValueError(f"{error}, nor {MAX}") from None


def _parse_scaling(value: Any) -> str:
    """Return a mode of scaling."""
    if value not in (WEAK, STRONG):
        raise ValueError(f"is not a mode of scaling: the choices are {WEAK}, {STRONG}")
    return str(value)


def _parse_word(value: Any) -> str:
    """Return a text that can be part of a path."""
    text = parse_text(value)
    if not _WORD.fullmatch(text):
        raise ValueError("has other characters than letters, digits, _ and .")
    return text


# The types that a benchmark file may give its own factors.
_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "count": parse_count,
    "flag": parse_flag,
    "text": _parse_word,
}


@dataclass(frozen=True)
class Factor:
    """One entry of the table.

    ``token``: how the variant in a log's path names a value, ``{}`` standing for it; empty where
    the name of the log does. ``plain``: the value that the path does not mention; None where the
    defaults of the recipe tell which one that is. ``values``: the values that published documents
    and paths of foreign logs may have. ``needed``: every recipe gives it a value. ``listed``: a
    recipe lists the values that may be asked for, else only the plain one may. ``every``: all of
    these run where nothing is asked for, else the first. ``stated``: a cell
    or published row without it leaves it unknown; without any other factor, which may be younger
    than the record, it has the plain value. ``in_log``: a log that states it must not contradict
    its cell. ``decisive``: figures that differ in it are not comparable. ``means``: how a framework
    does the work, so that a table of frameworks has a column for each value; the others are the
    work itself, the same for a whole table. ``words``: how a sentence says a
    value, by default its name and the value, and nothing of the plain one.
    """

    name: str
    parse: Callable[[Any], Any]
    token: str = ""
    plain: Any = None
    values: Tuple[str, ...] = ()
    needed: bool = False
    listed: bool = False
    every: bool = False
    stated: bool = False
    in_log: bool = False
    decisive: bool = True
    means: bool = False
    words: str = ""

    @property
    def missing(self) -> Any:
        """Return the value of a cell or published row that does not state it, None if unknown."""
        return None if self.stated else self.plain

    @property
    def pattern(self) -> str:
        """Return the regular expression of its part of a foreign path; empty where it has none."""
        values = "|".join(value for value in self.values if value != self.plain)
        if self.parse is parse_text and not values:
            return ""
        return self.token.replace("{}", f"({values})" if values else r"(\d+)")


# In the order in which a path names them and a matrix combines them.
FACTORS: Tuple[Factor, ...] = (
    Factor(
        *("precision", parse_text),
        values=("fp32", "tf32", "amp", "fp16", "bf16"),
        needed=True,
        listed=True,
        stated=True,
        in_log=True,
        words="{}",
    ),
    Factor(
        *("batch_size_per_device", _parse_batch_size),
        token="bz{}",
        needed=True,
        stated=True,
        in_log=True,
        words="batch size {} per device",
    ),
    # Of strong scaling alone, where the batch size per device follows from it and the topology.
    Factor(
        "global_batch_size", parse_count, token="gb{}", in_log=True, words="global batch size {}"
    ),
    Factor(
        *("scaling", _parse_scaling),
        token="{}",
        plain=WEAK,
        values=(WEAK, STRONG),
        words="{} scaling",
    ),
    Factor("xla", parse_flag, token="xla", plain=False, listed=True, stated=True, means=True),
    Factor(
        *("data_backend", parse_text),
        token="{}",
        plain="native",
        values=("native", "dali", "tfrecord", "recordio"),
        listed=True,
        stated=True,
        means=True,
    ),
    Factor(
        *("data", parse_text),
        token="{}",
        plain="synthetic",
        values=("real", "synthetic"),
        listed=True,
        stated=True,
        in_log=True,
        words="{} data",
    ),
    Factor(
        *("framework_version", parse_text), token="v{}", stated=True, decisive=False, means=True
    ),
    Factor(
        *("mode", parse_text),
        token="{}",
        plain="train",
        listed=True,
        stated=True,
        decisive=False,
        means=True,
    ),
    Factor(
        *(TREATMENT, parse_text),
        token="{}",
        plain=NO_TREATMENT,
        listed=True,
        every=True,
        means=True,
        words="variant {}",
    ),
)

# Those that benchmarks declare now. Campaigns of version 0.1, published documents and logs have
# them beside the factors of the table, and paths of foreign logs may name them.
FORMER: Tuple[Factor, ...] = (Factor("image_size", parse_count, token="{}px", in_log=True),)


if TYPE_CHECKING:
    # A cell has MAX while the largest is searched, and nobody reckons with it then. Python 3.8
    # looks for the name where a type extends Factors.
    BatchSize = Any
else:
    BatchSize = Union[int, str]


class Factors(TypedDict):
    """The values of :data:`FACTORS` in a cell, None where a record or log does not state one."""

    precision: str
    batch_size_per_device: BatchSize
    global_batch_size: Optional[int]
    scaling: Optional[str]
    xla: Optional[bool]
    data_backend: Optional[str]
    data: Optional[str]
    framework_version: Optional[str]
    mode: Optional[str]
    treatment: Optional[str]


def factor_names(wanted: Optional[Callable[[Factor], bool]] = None) -> Tuple[str, ...]:
    """Return the names of the table's factors in order.

    :param wanted: which of them, by default all.
    """
    return tuple(factor.name for factor in FACTORS if wanted is None or wanted(factor))


def factor_values(
    cell: Mapping[str, Any], wanted: Optional[Callable[[Factor], bool]] = None
) -> Dict[str, Any]:
    """Return the factors of a cell with their values: the table's, then the benchmark's own.

    :param cell: a planned or measured cell; see :func:`missing_value` of one that it lacks.
    :param wanted: which of the table, by default all; a cell's own are always among them.
    """
    values = {
        factor.name: factor.missing if cell.get(factor.name) is None else cell[factor.name]
        for factor in FACTORS
        if wanted is None or wanted(factor)
    }
    return {**values, **own_values(cell)}


def own_values(item: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the factors that the benchmark of a cell, or of a published row, declares.

    :param item: also of a file of version 0.1, which has :data:`FORMER` among the others.
    """
    former = {one.name: item[one.name] for one in FORMER if item.get(one.name) is not None}
    return {**former, **(item.get("own_factors") or {})}


def is_strong(cell: Mapping[str, object]) -> bool:
    """Return whether a cell, of any record, is one of strong scaling."""
    return cell.get("scaling") == STRONG


def missing_value(name: str) -> Any:
    """Return the value of a factor that a cell or published row does not state, None if unknown."""
    return next((factor.missing for factor in FACTORS if factor.name == name), None)


def factor_words(values: Mapping[str, Any]) -> Dict[str, str]:
    """Return how a sentence says each value that is known: ``{"data": "real data"}``.

    The plain value of a factor without ``words`` needs no mention: most benchmarks have nothing of
    such a factor.

    :param values: of factors by name, as :func:`factor_values` returns them.
    """
    words = {factor.name: factor.words for factor in FACTORS if factor.words}
    unsaid = {factor.name: str(factor.plain) for factor in FACTORS if not factor.words}
    return {
        name: words[name].format(value) if name in words else f"{name.replace('_', ' ')} {value}"
        for name, value in values.items()
        if value not in (None, "") and unsaid.get(name) != str(value)
    }


# A plan asks it for every pair of factors of every benchmark.
@lru_cache(maxsize=4096)
def _share_a_part(one: Factor, other: Factor) -> bool:
    """Return whether a part of a path can name a value of either factor.

    Of texts only the token and known values are compared; ``matrix.expand`` refuses the rest.
    """
    if one.token == other.token:
        return bool(one.token)
    heads, tails = zip(*(factor.token.partition("{}")[::2] for factor in (one, other)))
    parts = [max(heads, key=len) + "1" + max(tails, key=len), one.token, other.token]
    parts += [*one.values, *other.values]
    return any(
        re.fullmatch(one.pattern, part) and re.fullmatch(other.pattern, part)
        for part in parts
        if part
    )


def own_factor(
    name: str, declared: Any, reserved: Sequence[str] = (), others: Sequence[Factor] = FACTORS
) -> Factor:
    """Return the factor that a benchmark file declares under ``factors:``.

    Figures that differ in it are not comparable, and a log that states it must not contradict it.

    :param declared: ``type`` (count, flag or text) and ``token`` (how the log path names a value:
        letters and digits, with ``{}`` for the value; a flag's without).
    :param reserved: names that something else has, and, ending with ``_``, beginnings of such.
    :param others: the factors that stand beside it in the path of a log.
    :raises ValueError: what is wrong with the name or the declaration.
    """
    if not _NAME.fullmatch(str(name)):
        raise ValueError(f"{name!r} is not a name for a factor: lower-case letters, digits and _")
    if name in {*factor_names(), *reserved} or name.startswith(
        tuple(word for word in reserved if word.endswith("_"))
    ):
        raise ValueError(f"{name} is the name of something else")
    if not isinstance(declared, Mapping):
        raise ValueError(f"{name}: a mapping with type and token is needed, not {declared!r}")
    unknown: List[str] = sorted(str(key) for key in declared if key not in ("type", "token"))
    if unknown:
        raise ValueError(f"{name}: unknown key {unknown[0]}; known: type, token")
    kind, token = declared.get("type"), declared.get("token")
    if not isinstance(kind, str) or kind not in _PARSERS:
        raise ValueError(f"{name}.type: {kind!r} is not one of {', '.join(_PARSERS)}")
    is_flag = kind == "flag"
    if not isinstance(token, str) or not _TOKEN.fullmatch(token) or ("{}" in token) == is_flag:
        form = "without {}" if is_flag else "with {} for the value"
        raise ValueError(f"{name}.token {token!r}: letters and digits {form} are needed")
    if not token:
        raise ValueError(f"{name}.token: is empty: the path of a log could not name the value")
    if _TOPOLOGY.fullmatch(token.replace("{}", "1")):
        raise ValueError(f"{name}.token {token!r} reads like a topology: choose another")
    factor = Factor(
        *(name, _PARSERS[kind]),
        token=token,
        plain=False if is_flag else None,
        needed=not is_flag,
        in_log=True,
    )
    for other in others:
        if _share_a_part(factor, other):
            raise ValueError(
                f"{name}.token {token!r} can name a value of {other.name} ({other.token!r})"
                " too: choose another"
            )
    return factor
