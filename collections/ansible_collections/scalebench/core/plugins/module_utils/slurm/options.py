"""The options of an allocation: what a user may ask Slurm for, in one table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .answers import SlurmNode, gpus_among

__all__ = ["DIRECTIVES", "Directive", "check_gpus", "directives", "gpus_asked", "nodes_needed"]

# What sbatch's directives carry unchanged, without blanks, quotes and comments. Constraints and
# lists of nodes have brackets, &, | and *.
_WORD = re.compile(r"[A-Za-z0-9_.,:;@/+&|*()\[\]=%-]+")
# sbatch(1), --time: minutes, minutes:seconds, hours:minutes:seconds, days-hours and so on.
_TIME = re.compile(r"\d+|\d+:\d\d|\d+:\d\d:\d\d|\d+-\d+(:\d\d){0,2}")
_TIME_WITH_UNIT = re.compile(r"(\d+)(min|h|d)")
_MINUTES = {"min": 1, "h": 60, "d": 1440}
_EXTRA = re.compile(r"--[a-z][a-z-]+(=[^\s=].*)?")


def _word(value: Any) -> str:
    text = str(value)
    if not _WORD.fullmatch(text):
        raise ValueError("is not one word without quotes and comments")
    return text


def _account(value: Any) -> str:
    if isinstance(value, int):
        raise ValueError('is a number, and YAML changes some (0123 is 83): quote it, as "0123"')
    return _word(value)


def _count(value: Any) -> str:
    if isinstance(value, bool) or not re.fullmatch(r"[1-9][0-9]{0,5}", str(value)):
        raise ValueError("is not a whole number above 0")
    return str(value)


def _time(value: Any) -> str:
    """Return a time limit in a form of Slurm's; ``90min``, ``8h`` and ``2d`` become minutes."""
    # YAML 1.1 reads 1:30:00 as a number of base 60; hours give at least 3600.
    if isinstance(value, int) and value >= 3600:
        raise ValueError(
            'is what YAML makes of a time without quotes: write "1:30:00" with quotes, or 90min'
        )
    text = str(value)
    match = _TIME_WITH_UNIT.fullmatch(text)
    if match:
        return str(int(match[1]) * _MINUTES[match[2]])
    if not _TIME.fullmatch(text):
        raise ValueError("is not a time limit: 90, 1:30:00, 2-12:00, 90min, 8h or 2d")
    return text


def _flag(value: Any) -> str:
    """Return an empty value for a switch that is on; ``no`` for one that is off."""
    text = str(value).lower()
    if text not in ("true", "false", "yes", "no"):
        raise ValueError("is neither true nor false")
    return "" if text in ("true", "yes") else "no"


@dataclass(frozen=True)
class Directive:
    """An option of sbatch that a user may set, as ``slurm_<name>``; ``about`` says what for."""

    name: str
    flag: str
    parse: Callable[[Any], str]
    about: str


DIRECTIVES: Tuple[Directive, ...] = (
    Directive("nodes", "--nodes", _count, "Number of nodes."),
    Directive("partition", "--partition", _word, "Partition."),
    Directive("account", "--account", _account, "Account that is charged."),
    Directive("qos", "--qos", _word, "Quality of service."),
    Directive("constraint", "--constraint", _word, "Features that the nodes must have."),
    Directive("gres", "--gres", _word, "Generic resources of each node, as gpu:8."),
    Directive("gpus_per_node", "--gpus-per-node", _word, "GPUs of each node, as 8 or h100:8."),
    Directive("exclusive", "--exclusive", _flag, "Whether no other job may use the nodes."),
    Directive(
        "cpus_per_task",
        "--cpus-per-task",
        _count,
        "CPUs of each node; needed where other jobs may use the nodes.",
    ),
    Directive("memory", "--mem", _word, "Memory of each node, as 64G; 0 for all of it."),
    Directive("reservation", "--reservation", _word, "Reservation."),
    Directive("nodelist", "--nodelist", _word, "Nodes that must be among those allocated."),
    Directive("exclude", "--exclude", _word, "Nodes that must not be among those allocated."),
    Directive(
        "time",
        "--time",
        _time,
        "Time limit, in a form of Slurm's or as 90min, 8h, 2d; empty for the plan's.",
    ),
    Directive("mail_user", "--mail-user", _word, "Who gets mail about the job."),
    Directive("mail_type", "--mail-type", _word, "What about, as END,FAIL."),
)
# What the batch script sets itself, or what would make it another kind of job, one that squeue does
# not find (--clusters), that waits for more than nodes, or whose steps have other memory.
_OWN = {
    *(directive.flag for directive in DIRECTIVES),
    *("--array", "--job-name", "--ntasks", "--ntasks-per-node", "--output", "--error", "--wrap"),
    *("--requeue", "--no-requeue", "--no-kill", "--parsable", "--test-only", "--hold", "--wait"),
    *("--overcommit", "--oversubscribe", "--chdir", "--export", "--cluster-constraint"),
    *("--clusters", "--dependency", "--begin", "--mem-per-cpu", "--mem-per-gpu", "--export-file"),
}


def directives(given: Mapping[str, Any]) -> List[str]:
    """Return what sbatch is asked for, one word for each option that is set: ``--nodes=4``.

    :param given: values by the names of ``DIRECTIVES``, an empty one for not set; and ``extra``,
        more words for sbatch as a list.
    :raises ValueError: an unknown name or a value that cannot be one, with the variable's name.
    """
    known: Dict[str, Directive] = {directive.name: directive for directive in DIRECTIVES}
    unknown = sorted({*given} - {*known, "extra"})
    if unknown:
        raise ValueError(f"slurm_{unknown[0]}: there is no such option of an allocation")
    words = []
    for directive in DIRECTIVES:
        value = given.get(directive.name)
        if value is None or value == "":
            continue
        try:
            text = directive.parse(value)
        except ValueError as error:
            raise ValueError(f"slurm_{directive.name}={value}: {value!r} {error}") from None
        if directive.parse is not _flag:
            words.append(f"{directive.flag}={text}")
        elif not text:
            words.append(directive.flag)
    # sbatch would take one core of each node for its one task, and nothing would say so.
    shared = given.get("exclusive") not in (None, "") and "--exclusive" not in words
    if shared and given.get("cpus_per_task") in (None, ""):
        raise ValueError(
            "slurm_exclusive=false: the job would get one core of each node: say how many with"
            " -e slurm_cpus_per_task="
        )
    return words + _extra(given.get("extra") or ())


def gpus_asked(given: Mapping[str, Any]) -> Optional[int]:
    """Return how many GPUs of each node are asked for; 0 for ``gres=none``, None for no word.

    :param given: as for :func:`directives`.
    """
    if given.get("gres") == "none":
        return 0
    # As 8, h100:8, or with commas between types.
    per_node = str(given.get("gpus_per_node") or "").split(",")
    counts = [f"gpu:{word}" for word in per_node if word]
    return max(gpus_among(",".join(counts)), gpus_among(str(given.get("gres") or ""))) or None


def check_gpus(given: Mapping[str, Any], chosen: Sequence[SlurmNode], topology: Any = None) -> None:
    """Refuse nodes with GPUs where none are asked for, and topologies that need more than asked.

    Steps would see none, or all, silently; and what the job has not would be told after the queue.

    :param given: as for :func:`directives`.
    :param chosen: the nodes that Slurm would choose.
    :param topology: as for :func:`nodes_needed`.
    :raises ValueError: the first such node or topology, and what to set.
    """
    asked = gpus_asked(given)
    for text in _topologies(topology) if asked else ():
        match = re.fullmatch(r"[0-9]+n([0-9]+)g", text)
        if match and asked and int(match[1]) > asked:
            raise ValueError(
                f"-e topology={text}: it needs {match[1]} GPUs of each node, and the job asks for"
                f" {asked}: give -e slurm_gpus_per_node={match[1]}"
            )
    for node in chosen if asked is None else ():
        if node.gpus:
            raise ValueError(
                f"{node.name} has {node.gpus} GPUs (Gres of Slurm), and the job asks for none: give"
                f" -e slurm_gpus_per_node={node.gpus}, or -e slurm_gres=none to measure its CPUs"
            )


def _extra(words: Any) -> List[str]:
    if not isinstance(words, (list, tuple)):
        raise ValueError(f"slurm_extra={words}: is not a list, as [--licenses=a, --comment=b]")
    for word in words:
        flag, _, value = str(word).partition("=")
        if not _EXTRA.fullmatch(str(word)) or (value and not _WORD.fullmatch(value)):
            raise ValueError(
                f"slurm_extra: {word!r} is not an option of sbatch in one word, as --licenses=a"
            )
        # A job's --gpus is asked for by each of its steps, and one node does not have them all.
        if flag.startswith("--gpus"):
            raise ValueError(f"slurm_extra: {flag}: give GPUs of each node, slurm_gpus_per_node=8")
        # sbatch takes beginnings of an option for it, as getopt_long(3) does.
        if any(own.startswith(flag) for own in _OWN):
            raise ValueError(f"slurm_extra: {flag} is set by Scalebench or has its own variable")
    return [str(word) for word in words]


def nodes_needed(topology: Any) -> int:
    """Return how many nodes the largest of the campaign's topologies needs.

    :param topology: a list or a text with commas, as ``1n8g,4n8g``.
    :raises ValueError: there is none, or it says no number of nodes.
    """
    found = [re.fullmatch(r"([1-9][0-9]*)n.+", text) for text in _topologies(topology)]
    counts = [int(match[1]) for match in found if match]
    if not counts or len(counts) < len(found):
        raise ValueError(
            "slurm_nodes is not set, and -e topology= says no number of nodes: give one of them"
        )
    return max(counts)


def _topologies(topology: Any) -> List[str]:
    items = topology if isinstance(topology, (list, tuple)) else str(topology or "").split(",")
    return [str(item).strip() for item in items]
