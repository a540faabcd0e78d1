"""Names of many nodes as people read them, ``node[1-4,7]``, and which are of one machine."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

__all__ = [
    "by_words",
    "cores_of_machine",
    "differing",
    "fold",
    "folded",
    "machines_of",
    "named",
    "without_own",
]

# What stands before and after the number, and its least number of digits.
_Family = Tuple[str, str, int]
# Ansible's words for a node that does not answer, and OpenSSH's before its address.
_UNREACHABLE = re.compile("Failed to connect to the host via ssh|Data could not be sent")
_SSH_ADDRESS = re.compile(
    r"(?:(?:connect to|remote) host \"?|resolve hostname |Connection (?:to|closed by|reset by) "
    r"|\w@)(\w[\w.:-]*\w)"
)
_NUMBER = re.compile("[0-9]{1,18}")
# A name with a character of the notation itself stays as it is, and one that is no host's: RFC 1035
# allows 253 characters.
_NOTATION = frozenset("[],")
_LONGEST = 253


def folded(names: Iterable[str]) -> str:
    """Return names in one line: ``gpu[001-064], login``; empty for none."""
    return ", ".join(fold(names))


def named(names: Iterable[str], longest: int = 40) -> str:
    """Return names as :func:`folded`, or how many there are where that is longer."""
    different = {*names}
    text = folded(different)
    return text if len(text) <= longest else f"{len(different)} nodes"


def differing(values: Mapping[str, str]) -> str:
    """Return in words which nodes have which value; empty where all have the same."""
    return ", ".join(by_words(values.items(), " has ")) if len({*values.values()}) > 1 else ""


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

    It is the number by which most of the names join; of equals the last of the host's own name,
    without its domain: ``rack1-node[1-2].lan3``. A number with leading zeros keeps its digits:
    ``gpu[008-012]``. Equal names count once.
    """
    parts = {name: _parts(name) for name in names}
    # Of numbers with as many digits as one that begins with 0, all are written so.
    padded = {family for some in parts.values() for family, digits in some if digits[0] == "0"}
    choices = {
        name: [
            (family if family in padded else (*family[:2], 1), int(digits))
            for family, digits in some
        ]
        for name, some in parts.items()
    }
    sizes = Counter(family for some in choices.values() for family, _ in some)
    families: Dict[_Family, Dict[int, str]] = {}
    for name, some in choices.items():
        if some:
            family, number = max(some, key=lambda choice: sizes[choice[0]])
            families.setdefault(family, {})[number] = name
    made = [name for name, some in choices.items() if not some]
    for (before, after, width), members in families.items():
        spans = ",".join(_span(*ends, width) for ends in _consecutive(sorted(members)))
        alone = next(iter(members.values()))
        made.append(alone if len(members) == 1 else f"{before}[{spans}]{after}")
    return sorted(made, key=_natural)


def without_own(text: str, names: Iterable[str]) -> str:
    """Return a text without a node's own names and addresses: what it shares with other nodes.

    The address in Ansible's message that ssh failed is one of them. A name without a digit may be
    a word of the text (``gpu``) and stays, like a mere number.
    """
    met = _SSH_ADDRESS.findall(text) if _UNREACHABLE.search(text) else []
    own = "|".join(
        re.escape(name)
        for name in {*names, *met}
        if re.search("[0-9]", name) and not name.isdigit()
    )
    return re.sub(rf"(?<![\w.])(?:{own})(?!\.?\w)", "", text) if own else text


def _parts(name: str) -> List[Tuple[_Family, str]]:
    """Return for each number of a name its family and digits, the preferred number first."""
    host = name.partition(".")[0]
    # Of an address the last number counts.
    end = len(name if host.isdigit() else host)
    plain = len(name) > _LONGEST or _NOTATION & set(name)
    numbers = [] if plain else [*_NUMBER.finditer(name)]
    numbers.sort(key=lambda number: (number.end() <= end, number.end()), reverse=True)
    return [
        ((name[: number.start()], name[number.end() :], len(number[0])), number[0])
        for number in numbers
    ]


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


def _natural(name: str) -> List[Tuple[bool, int, str, str]]:
    """Return what to sort by: numbers as numbers, of any length, before words."""
    parts = [part for part in re.split(r"([0-9]+)", name) if part]
    numbers = [part.lstrip("0") if part.isdecimal() else None for part in parts]
    return [
        (number is None, len(number or ""), number or "", part)
        for number, part in zip(numbers, parts)
    ]


def machines_of(nodes: Mapping[str, Mapping[str, Any]]) -> Dict[str, str]:
    """Return by node which machine it is on: nodes under one kernel are one machine.

    :param nodes: fingerprints by node, as in plan.json.
    """
    return {
        name: str(node.get("boot_id") or node.get("machine_id") or name)
        for name, node in nodes.items()
    }


def cores_of_machine(nodes: Iterable[Mapping[str, Any]]) -> Optional[int]:
    """Return how many cores nodes on one machine have together; None where that is not known.

    They have the same ones, but for containers with a CPU quota each.

    :param nodes: their fingerprints.
    """
    counts: Dict[Any, int] = {}
    allowed = 0
    for node in nodes:
        cores = node.get("cores")
        if not isinstance(cores, int):
            return None
        quota = node.get("cpu_quota") or {}
        share = quota.get("cgroup")
        counts[share] = max(cores, counts.get(share, 0))
        allowed = max(allowed, quota.get("allowed", cores))
    return min(sum(counts.values()), allowed)
