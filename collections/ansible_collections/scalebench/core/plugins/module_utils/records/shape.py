"""JSON from a file, and its shape: the types of this package are its schema.

Whoever reads a plan, a record, results or the header of a log calls these two, and then relies on
the types.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from typing import Any, Dict, Iterator, List, Mapping, Tuple, Union, get_type_hints

__all__ = ["DEEPEST", "MEASURED", "Scalar", "check_plain", "check_shape", "parse_json"]

Scalar = Union[str, bool, int, float]
Needed = Mapping[Any, Tuple[str, ...]]

DEEPEST = 32
# No figure is larger (a loss on its way to infinity is 1e30), and none but 0 smaller: what is
# computed from two of them is finite. Nothing is computed from p-values, and those of steady
# repeats are as small as 1e-98.
_LARGEST, _SMALLEST = 1e60, 1e-60
# None that is measured or stated is larger: what is computed from two of them is a figure.
MEASURED = 1e30
_P_VALUES = ("p_difference", "p_equivalence", "p", "by_chance")
_WORDS = {
    **{str: "a text", bool: "true or false", int: "a whole number", float: "a number"},
    type(None): "null",
}


def parse_json(text: str) -> Any:
    """Return the value of a JSON document.

    :raises ValueError: it is not JSON, names a key twice, is nested too deep, or holds what is no
        figure (NaN, 1e999) or no text (half of a pair of surrogates).
    """
    try:
        value = json.loads(text, object_pairs_hook=_object)
        check_plain(value)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except MemoryError:
        raise ValueError("it takes more memory than there is") from None
    return value


def _object(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"it has {twice!r:.80} twice")
    return value


def check_plain(
    value: Any, depth: int = 0, smallest: float = _SMALLEST, largest: float = _LARGEST
) -> None:
    """Refuse what :func:`parse_json` refuses, and what YAML has beside JSON.

    :param largest: no number may be larger; :data:`MEASURED` where others are computed from them.
    :raises ValueError: what it is.
    """
    if depth > DEEPEST:
        raise ValueError("nested too deep")
    if isinstance(value, str):
        if not value.isascii():
            value.encode("utf-8")
    elif isinstance(value, dict):
        for key, inner in value.items():
            check_plain(key, depth)
            check_plain(inner, depth + 1, 0.0 if key in _P_VALUES else _SMALLEST, largest)
    elif isinstance(value, list):
        for inner in value:
            check_plain(inner, depth + 1, largest=largest)
    elif value is not None and not isinstance(value, (int, float)):
        kind = type(value).__name__
        raise ValueError(f"it holds {value!s:.40}, a {kind}: put it in quotes to make it a text")
    elif value and not smallest < abs(value) < largest:
        raise ValueError(f"it holds {value!r:.40}, which is no figure")


def check_shape(value: Any, kind: Any, where: str, needed: Needed) -> None:
    """Refuse a value of :func:`parse_json` that is not of a type.

    Keys that the type does not have pass, since a newer version may have them.

    :param kind: a ``TypedDict``, or another type of ``typing`` that JSON can hold.
    :param where: what the message calls the value.
    :param needed: keys that must be there, by ``TypedDict``; of others those that it requires.
    :raises ValueError: what is missing, or the first value of another type, with its place.
    """
    for problem in _problems(value, kind, where, needed):
        raise ValueError(problem)


def _problems(value: Any, kind: Any, where: str, needed: Needed) -> Iterator[str]:
    origin = getattr(kind, "__origin__", None)
    inner: Tuple[Any, ...] = getattr(kind, "__args__", ())
    if origin is Union:
        if not any(_fits(value, choice, needed) for choice in inner):
            choices = [choice for choice in inner if choice is not type(None)]
            yield from _problems(value, choices[0], where, needed)
    elif hasattr(kind, "__total__"):
        yield from _of_mapping(value, kind, where, needed)
    elif origin is list:
        if not isinstance(value, list):
            yield f"{where} is {value!r:.80}, not a list"
        else:
            for index, item in enumerate(value):
                yield from _problems(item, inner[0], f"{where}[{index}]", needed)
    elif origin is not None:
        if not isinstance(value, dict):
            yield f"{where} is {value!r:.80}, not a mapping"
        else:
            for key, item in value.items():
                yield from _problems(item, inner[1], f"{where}.{key:.80}", needed)
    elif kind is not Any and not _is_a(value, kind):
        yield f"{where} is {value!r:.80}, not {_WORDS[kind]}"


def _of_mapping(value: Any, kind: Any, where: str, needed: Needed) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where} is {value!r:.80}, not a mapping"
        return
    # Python 3.8 does not know what a type requires: what nodes with it read names it.
    wanted = needed.get(kind, getattr(kind, "__required_keys__", ()))
    missing = sorted(key for key in wanted if key not in value)
    if missing:
        yield f"{where} has no {', '.join(missing)}"
    for key, of in _hints(kind).items():
        if key in value:
            yield from _problems(value[key], of, f"{where}.{key}", needed)


def _fits(value: Any, kind: Any, needed: Needed) -> bool:
    return next(_problems(value, kind, "", needed), None) is None


def _is_a(value: Any, kind: Any) -> bool:
    """Return whether a value is of a scalar type; every whole number is a number, no flag is."""
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


@lru_cache(maxsize=64)  # functools.cache is not there on a node with Python 3.8
def _hints(kind: Any) -> Dict[str, Any]:
    return get_type_hints(kind)
