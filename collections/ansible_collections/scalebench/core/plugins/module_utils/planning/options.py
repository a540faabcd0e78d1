"""The options of a campaign: their names, types and values, and names that look misspelt."""

from __future__ import annotations

import difflib
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

from ..records.factors import FACTORS, Factor, parse_count, parse_flag, parse_text
from ..records.plans import MOST_REPEATS
from ..topology import COUNT_DIGITS

__all__ = [
    "LISTS",
    "OPTIONS",
    "PACKINGS",
    "as_arguments",
    "duration_seconds",
    "misspelt",
    "parse_options",
]

Parser = Callable[[Any], Any]
# How repeats share the cluster: one after another, or at once on disjoint nodes or devices.
PACKINGS = ("none", "nodes", "devices")


def _parse_warmup(value: Any) -> int:
    return 0 if value in (0, "0") and not isinstance(value, bool) else parse_count(value)


def _parse_topology(value: Any) -> str:
    text = parse_text(value)
    match = re.fullmatch(r"([1-9][0-9]*)n([1-9][0-9]*|\*)g", text)
    if match is None:
        raise ValueError(
            "is not a topology: write <nodes>n<devices per node>g, as 4n8g, or 4n*g for all devices"
        )
    if any(len(count) > COUNT_DIGITS for count in match.groups()):
        raise ValueError(
            f"has too many nodes or devices: give counts of at most {COUNT_DIGITS} digits"
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


_DURATION = re.compile(r"([0-9]+(?:[.][0-9]+)?)(s|min|h|d)")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_LONGEST_DURATION = 30 * 86400


def duration_seconds(text: Any) -> float:
    """Return a duration with its unit, ``90s``, ``30min``, ``8h``, ``2d``, in seconds.

    :raises ValueError: it is none, or 0.
    """
    match = _DURATION.fullmatch(str(text))
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not 0 < seconds <= _LONGEST_DURATION:
        raise ValueError("is not a duration of at most 30 days with its unit: 90s, 30min, 8h or 2d")
    return seconds


def _parse_duration(value: Any) -> str:
    duration_seconds(value)
    return str(value)


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


# What a path of logs may have of one value, in characters.
_LONGEST = 64

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
    "duration": _parse_duration,
    "packing": _parse_packing,
    # Whether cells may have GPUs of several models.
    "mixed_gpus": parse_flag,
    # A file of variants.
    "variants": parse_text,
    # Whether to look for the first slow one of them.
    "bisect": parse_flag,
}
OPTIONS: Tuple[str, ...] = (*LISTS, *SINGLE)
# The largest values of counts; what is above is a slip, or fills memory and disks. The last is of
# the counts that benchmarks declare.
_MOST: Mapping[str, int] = {
    **dict.fromkeys(("repeats", "max_repeats"), MOST_REPEATS),
    **dict.fromkeys(("warmup", "iterations", "epochs"), 1_000_000),
    "batch_size_per_device": 1_000_000,
    "global_batch_size": 1_000_000_000,
}
_MOST_OTHERWISE = 10**12
# The prefix of the variables of role campaign.
_ROLE = "campaign_"
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
_BY_CAMPAIGNS = "only playbooks that run a campaign read it, as bench.yml"
_FOR_ALL = "; what several playbooks share can be in the inventory, as in group_vars/all"
# How much a name resembles an option of another playbook that is meant: a letter in seven differs.
_ELSEWHERE = 0.85
# A report takes parameters of its rule too, under another name.
_OF_RULE = ("warmup", "iterations")


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
            if isinstance(value, Mapping):
                raise ValueError(
                    f"{source} {name}={value!s:.80}: is a mapping, not a list of values"
                )
            items = value if isinstance(value, (list, tuple)) else str(value).split(",")
            if len(items) > 1 and any(not str(item).strip() for item in items):
                raise ValueError(
                    f"{source} {name}={','.join(map(str, items)):.80}: has an empty item: remove"
                    " it, or the comma that is too many"
                )
            parsed = [_parse(lists[name], name, item, source) for item in items]
            if not parsed:
                raise ValueError(f"{source} {name}: the list is empty")
            for item in parsed:
                if len(str(item)) > _LONGEST:
                    raise ValueError(
                        f"{source} {name}={item!s:.80}: is longer than {_LONGEST} characters"
                    )
            options[name] = list(dict.fromkeys(parsed))
        elif name in SINGLE:
            options[name] = _parse(SINGLE[name], name, value, source)
    return options


def _parse(parser: Parser, name: str, value: Any, source: str) -> Any:
    try:
        parsed = parser(value.strip() if isinstance(value, str) else value)
        most = _MOST.get(name, _MOST_OTHERWISE)
        if isinstance(parsed, int) and parsed > most:
            raise ValueError(f"is above {most}, the most that can be asked for")
        return parsed
    except ValueError as error:
        raise ValueError(f"{source} {name}={value!s:.80}: {value!r:.80} {error}") from None


def as_arguments(options: Mapping[str, Any]) -> str:
    """Return options as on the command line: ``-e precision=fp32,amp -e repeats=3``."""
    words = []
    for name, value in options.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        words.append(f"-e {name}=" + ",".join(str(item) for item in values))
    return " ".join(words)


def misspelt(
    names: Iterable[str],
    known: Iterable[str],
    of_roles: Iterable[str] = (),
    own: Iterable[str] = (),
) -> List[str]:
    """Return a sentence for each name that nothing reads: an option, or what resembles one.

    :param names: the names of the variables the user gave on the command line.
    :param known: the names of variables that something reads; where role campaign runs, also the
        options and its variables, ``campaign_<option>``.
    :param of_roles: the variables of all roles, among them those of role campaign.
    :param own: the factors that benchmarks declare, which are options too.
    """
    read, options = {*known}, {*OPTIONS, *own}
    others = {*of_roles} - {_ROLE + name for name in options}
    of_campaign = {*read, *(other for other in others if other.startswith(_ROLE))}
    given = {*names} - {*read, *others}
    sentences = []
    # Where Ansible leaves the words of an -e that have no "=".
    if "_raw_params" in given:
        sentences.append('an -e without "=" gives no variable: write NAME=VALUE, JSON or @FILE')
    for name in sorted(given):
        rest = _without_role(name)
        if name in options:
            sentences.append(f"-e {name}: {_BY_CAMPAIGNS}{_FOR_ALL}")
            if name in _OF_RULE:
                sentences[-1] += (
                    "; report.yml takes it as parameter of its rule:"
                    f""" -e '{{"report_parameters": {{"{name}": NUMBER}}}}'"""
                )
            continue
        if rest == name:
            # Stricter with those of roles, of which there are hundreds.
            # At 0.75 a word of four letters resembles any that differs in one of them: date, gate.
            meant = _meant(name, others, 0.9) or _meant(name, read, 0.76)
            meant = meant or _meant(name, options, _ELSEWHERE)
        else:
            # Stricter, because many variables of roles resemble one: campaign_benchmarks_dir.
            meant = _meant(rest, options, _ELSEWHERE)
            meant = meant or _meant(rest, map(_without_role, of_campaign), 0.8)
            meant = _ROLE + meant if meant and _ROLE + meant in of_campaign else meant
        if rest != name and meant in options and meant not in read:
            sentences.append(
                f"-e {name}: only playbooks that run role campaign read {_ROLE}{meant}{_FOR_ALL}"
            )
        elif meant:
            sentences.append(f"-e {name}: there is no option {name!r}; did you mean {meant!r}?")
            if meant in options and meant not in read:
                sentences[-1] += f" {_BY_CAMPAIGNS.capitalize()}"
    return sentences


def _without_role(name: str) -> str:
    return name[len(_ROLE) :] if name.startswith(_ROLE) else name


def _meant(name: str, candidates: Iterable[str], cutoff: float) -> Optional[str]:
    """Return the candidate that a name stands for or resembles by at least ``cutoff``."""
    known = sorted(candidates)
    if name in known:
        return name
    close = difflib.get_close_matches(name, known, 1, cutoff)
    return _ALIASES.get(name.lower().replace("-", "_")) or (close[0] if close else None)
