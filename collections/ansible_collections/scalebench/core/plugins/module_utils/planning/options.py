"""The options of a campaign: which there are, what may stand in them, which look misspelt."""

from __future__ import annotations

import difflib
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Tuple

__all__ = ["LISTS", "MAX", "OPTIONS", "PACKINGS", "as_arguments", "misspelt", "parse_options"]

Parser = Callable[[Any], Any]
# How repeats share the cluster: one after another, or at once on disjoint nodes or devices.
PACKINGS = ("none", "nodes", "devices")
# As a batch size: the largest that runs, to be searched.
MAX = "max"


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("is empty")
    return value.strip()


def _count(value: Any) -> int:
    if isinstance(value, bool):
        raise ValueError("is not a whole number")
    try:
        number = int(value) if isinstance(value, (int, str)) else None
    except ValueError:
        number = None
    if number is None:
        raise ValueError("is not a whole number")
    if number < 1:
        raise ValueError("is below 1")
    return number


def _warmup(value: Any) -> int:
    return 0 if value in (0, "0") and not isinstance(value, bool) else _count(value)


def _batch(value: Any) -> Any:
    if value == MAX:
        return value
    try:
        return _count(value)
    except ValueError as error:
        raise ValueError(f"{error}, nor {MAX}") from None


def _topology(value: Any) -> str:
    text = _text(value)
    if not re.fullmatch(r"[1-9][0-9]*n([1-9][0-9]*|\*)g", text):
        raise ValueError(
            "is no topology: write <nodes>n<devices per node>g, as 4n8g, or 4n*g for all devices"
        )
    return text


def _share(value: Any) -> float:
    """Return a relative half-width: above 0, below 1."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError("is not a number") from None
    if not 0 < number < 1:
        raise ValueError("is not between 0 and 1: 0.02 asks for 2 % to either side")
    return number


def _percentage(value: Any) -> float:
    """Return a share in percent: above 0, not above 100."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError("is not a number") from None
    if not 0 < number <= 100:
        raise ValueError("is not above 0 and at most 100 percent")
    return number


def _packing(value: Any) -> str:
    if value not in PACKINGS:
        raise ValueError(f"is no packing: the choices are {', '.join(PACKINGS)}")
    return str(value)


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    names = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    if str(value).strip().lower() not in names:
        raise ValueError("is neither true nor false")
    return names[str(value).strip().lower()]


# A list varies over the matrix; the others are one value for the whole campaign.
LISTS: Mapping[str, Parser] = {
    "benchmark": _text,
    "precision": _text,
    "topology": _topology,
    "batch_size_per_device": _batch,
    "image_size": _count,
    "xla": _flag,
    "data": _text,
    "data_backend": _text,
    "framework_version": _text,
    "mode": _text,
}
SINGLE: Mapping[str, Parser] = {
    "recipe": _text,
    "repeats": _count,
    "warmup": _warmup,
    "iterations": _count,
    "epochs": _count,
    "target_accuracy": _percentage,
    "half_width": _share,
    "max_repeats": _count,
    "packing": _packing,
}
OPTIONS: Tuple[str, ...] = (*LISTS, *SINGLE)
# Names of other programs for the same things; too far from ours for a likeness of letters.
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


def parse_options(given: Mapping[str, Any], source: str = "-e") -> Dict[str, Any]:
    """Return the campaign's options out of ``given``, typed, lists as lists without repetition.

    :param given: every variable the user set, others than options among them; a list may be a
        list or a text with commas (``fp32,amp``).
    :param source: where they were given, for the message.
    :raises ValueError: a value that cannot be meant, named with its source.
    """
    options: Dict[str, Any] = {}
    for name, value in given.items():
        if name in LISTS:
            items = value if isinstance(value, (list, tuple)) else str(value).split(",")
            parsed = [_parse(LISTS[name], name, item, source) for item in items]
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
    """Return one sentence for each name that is no option and no variable but looks like one.

    :param names: the names of the variables the user gave on the command line.
    :param known: the options and the variables that something reads.
    """
    candidates = sorted({*OPTIONS, *known})
    found = []
    for name in sorted(set(names) - set(candidates)):
        close = difflib.get_close_matches(name, candidates, 1, 0.75)
        meant = _ALIASES.get(name.lower().replace("-", "_")) or (close[0] if close else None)
        if meant:
            found.append(f"-e {name}: there is no option {name!r}; did you mean {meant!r}?")
    return found
