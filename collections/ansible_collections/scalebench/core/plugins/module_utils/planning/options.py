"""The options of a campaign: their names, types and values, and names that look misspelt."""

from __future__ import annotations

import difflib
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Tuple

from ..records.factors import FACTORS, Factor, parse_count, parse_text

__all__ = ["LISTS", "OPTIONS", "PACKINGS", "as_arguments", "misspelt", "parse_options"]

Parser = Callable[[Any], Any]
# How repeats share the cluster: one after another, or at once on disjoint nodes or devices.
PACKINGS = ("none", "nodes", "devices")


def _parse_warmup(value: Any) -> int:
    return 0 if value in (0, "0") and not isinstance(value, bool) else parse_count(value)


def _parse_topology(value: Any) -> str:
    text = parse_text(value)
    if not re.fullmatch(r"[1-9][0-9]*n([1-9][0-9]*|\*)g", text):
        raise ValueError(
            "is not a topology: write <nodes>n<devices per node>g, as 4n8g, or 4n*g for all devices"
        )
    return text


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError("is not a number") from None


def _parse_half_width(value: Any) -> float:
    """Return a relative half-width: above 0, below 1."""
    number = _number(value)
    if not 0 < number < 1:
        raise ValueError("is not between 0 and 1: 0.02 asks for 2 % to either side")
    return number


def _parse_percentage(value: Any) -> float:
    """Return a share in percent: above 0, not above 100."""
    number = _number(value)
    if not 0 < number <= 100:
        raise ValueError("is not above 0 and at most 100 percent")
    return number


def _parse_packing(value: Any) -> str:
    if value not in PACKINGS:
        raise ValueError(f"is not a packing: the choices are {', '.join(PACKINGS)}")
    return str(value)


# A list varies over the matrix; the others are one value for the whole campaign.
LISTS: Mapping[str, Parser] = {
    "benchmark": parse_text,
    **{factor.name: factor.parse for factor in FACTORS},
    "topology": _parse_topology,
}
SINGLE: Mapping[str, Parser] = {
    "recipe": parse_text,
    "repeats": parse_count,
    "warmup": _parse_warmup,
    "iterations": parse_count,
    "epochs": parse_count,
    "target_accuracy": _parse_percentage,
    "half_width": _parse_half_width,
    "max_repeats": parse_count,
    "packing": _parse_packing,
}
OPTIONS: Tuple[str, ...] = (*LISTS, *SINGLE)
# Names that other programs use, too different in letters to be found by similarity.
_ALIASES = {
    "amp": "precision",
    "dtype": "precision",
    "framework": "benchmark",
    "version": "framework_version",
    "bs": "batch_size_per_device",
    "batch": "batch_size_per_device",
    "batch_size": "batch_size_per_device",
    "nodes": "topology",
    "gpus": "topology",
    "runs": "repeats",
    "steps": "iterations",
    "num_iter": "iterations",
    "warmup_steps": "warmup",
    "warm_up": "warmup",
}


def parse_options(
    given: Mapping[str, Any], source: str = "-e", own: Iterable[Factor] = ()
) -> Dict[str, Any]:
    """Return the campaign's options out of ``given``, typed, lists as lists without repetition.

    :param given: every variable the user set, others than options among them; a list may be a
        list or a text with commas (``fp32,amp``).
    :param source: where they were given, for the message.
    :param own: the factors that benchmarks declare, which are options too.
    :raises ValueError: an invalid value, named with its source.
    """
    lists = {**LISTS, **{factor.name: factor.parse for factor in own}}
    options: Dict[str, Any] = {}
    for name, value in given.items():
        if name in lists:
            items = value if isinstance(value, (list, tuple)) else str(value).split(",")
            parsed = [_parse(lists[name], name, item, source) for item in items]
            if not parsed:
                raise ValueError(f"{source} {name}: the list is empty")
            options[name] = list(dict.fromkeys(parsed))
        elif name in SINGLE:
            options[name] = _parse(SINGLE[name], name, value, source)
    return options


def _parse(parser: Parser, name: str, value: Any, source: str) -> Any:
    try:
        return parser(value.strip() if isinstance(value, str) else value)
    except ValueError as error:
        raise ValueError(f"{source} {name}={value}: {value!r} {error}") from None


def as_arguments(options: Mapping[str, Any]) -> str:
    """Return options as on the command line: ``-e precision=fp32,amp -e repeats=3``."""
    words = []
    for name, value in options.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        words.append(f"-e {name}=" + ",".join(str(item) for item in values))
    return " ".join(words)


def misspelt(names: Iterable[str], known: Iterable[str]) -> List[str]:
    """Return a sentence for each name that resembles an option or a variable but is neither.

    :param names: the names of the variables the user gave on the command line; an option may be
        given under its name or as the variable of role campaign, ``campaign_<name>``.
    :param known: the names of other variables that something reads.
    """
    candidates = sorted({*OPTIONS, *known})
    sentences = []
    for name in sorted({*names} - {*candidates, *(f"campaign_{option}" for option in OPTIONS)}):
        close = difflib.get_close_matches(name, candidates, 1, 0.75)
        meant = _ALIASES.get(name.lower().replace("-", "_")) or (close[0] if close else None)
        if meant:
            sentences.append(f"-e {name}: there is no option {name!r}; did you mean {meant!r}?")
    return sentences
