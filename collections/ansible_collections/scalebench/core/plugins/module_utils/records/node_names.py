"""Names of many nodes as people read them: ``node[1-4,7]``."""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, Tuple

__all__ = ["by_words", "fold", "folded", "named"]

# What stands before and after the number, and its least number of digits.
_Family = Tuple[str, str, int]
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})([^0-9]*)", re.ASCII)
# A name with a character of the notation itself stays as it is.
_NOTATION = frozenset("[],")


def folded(names: Iterable[str]) -> str:
    """Return names in one line: ``gpu[001-064], login``; empty for none."""
    return ", ".join(fold(names))


def named(names: Iterable[str], longest: int = 40) -> str:
    """Return names as :func:`folded`, or how many there are where that is longer."""
    different = {*names}
    text = folded(different)
    return text if len(text) <= longest else f"{len(different)} nodes"


def by_words(said: Iterable[Tuple[str, str]], link: str = ": ") -> List[str]:
    """Return ``node[1-4]: words``, the nodes of equal words together, in the order of the first.

    :param said: names of nodes, each with words.
    """
    names: Dict[str, List[str]] = {}
    for name, words in said:
        names.setdefault(words, []).append(name)
    return [f"{folded(some)}{link}{words}" for words, some in names.items()]


def fold(names: Iterable[str]) -> List[str]:
    """Return names in natural order, those that differ in one number together.

    The number is the last of the host's own name, without its domain: ``rack1-node[1-2].lan3``. A
    number with leading zeros keeps its digits: ``gpu[008-012]``. Equal names count once.
    """
    different = set(names)
    # Of numbers with as many digits as one that begins with 0, all are written so.
    padded = {family for name in different for family, digits in _parts(name) if digits[0] == "0"}
    families: Dict[_Family, Dict[int, str]] = {}
    for name in different:
        for (before, after, width), digits in _parts(name):
            family = (before, after, width)
            if family not in padded:
                family = (before, after, 1)
            families.setdefault(family, {})[int(digits)] = name
    made = [name for name in different if not _parts(name)]
    for (before, after, width), members in families.items():
        spans = ",".join(_span(*ends, width) for ends in _consecutive(sorted(members)))
        alone = next(iter(members.values()))
        made.append(alone if len(members) == 1 else f"{before}[{spans}]{after}")
    return sorted(made, key=_natural)


def _parts(name: str) -> List[Tuple[_Family, str]]:
    """Return the family of a name and the digits of its number; nothing where it has none."""
    host, dot, domain = name.partition(".")
    # An address, whose last number counts.
    if host.isdigit():
        host, dot, domain = name, "", ""
    match = None if _NOTATION & set(name) else _NUMBERED.fullmatch(host)
    if match is None:
        return []
    before, digits, after = match.groups()
    return [((before, after + dot + domain, len(digits)), digits)]


def _consecutive(numbers: List[int]) -> List[Tuple[int, int]]:
    """Return the first and the last of each run of consecutive numbers."""
    spans: List[Tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans


def _span(first: int, last: int, width: int) -> str:
    return f"{first:0{width}}" if first == last else f"{first:0{width}}-{last:0{width}}"


def _natural(name: str) -> List[Tuple[bool, int, str]]:
    """Return what to sort by: numbers as numbers, before words."""
    return [
        (not part.isdecimal(), int(part) if part.isdecimal() else 0, part)
        for part in re.split(r"([0-9]+)", name)
        if part
    ]
