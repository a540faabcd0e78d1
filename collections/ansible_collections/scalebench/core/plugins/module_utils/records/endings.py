"""How a repeat can end: one table, read by planning, retry, records, results and reports.

A new ending is an entry here and the code that decides it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

__all__ = [
    "ENDINGS",
    "Ending",
    "count_key",
    "ending_names",
    "ending_of_log",
    "group_words",
    "groups",
    "never_ran",
    "says_nothing",
]

# Who decides an ending: the supervisor on a node, the words of the log, the checks of a log that
# is complete, or the plan, before anything is started.
NODE, LOG, CHECKS, PLAN = "node", "log", "checks", "plan"


@dataclass(frozen=True)
class Ending:
    """One entry of the table.

    ``words``: what happened; ``advice``: what the user can do, if anything. ``judged_by``: who
    decides it.
    ``log_kinds``: the endings of a log (``logs.read``) that mean it.
    ``retriable``: another attempt may end otherwise, so that a retry policy may name it;
    ``retried``: the default policy does. ``group``: the list of the cell that the repeat is in;
    ``group_words``: how a sentence says so, where :func:`count_key` does not.
    ``fails``: it makes the campaign fail. ``junit``: its element in junit.xml. ``ends_peers``: the
    other nodes of the repeat are ended at once, since their logs add nothing about the cause.
    ``cut_short``: it was ended from outside, which is no fault of the nodes and no attempt.
    """

    name: str
    words: str
    advice: str
    judged_by: str
    log_kinds: Tuple[str, ...] = ()
    retriable: bool = False
    retried: bool = False
    group: str = "failures"
    group_words: str = ""
    fails: bool = True
    junit: str = "error"
    ends_peers: bool = False
    cut_short: bool = False

    @property
    def ran(self) -> bool:
        """Return whether something is started for a repeat that ends so."""
        return self.judged_by != PLAN


# Those that a node decides stand in the order of effect and cause: where the nodes of a repeat end
# differently, the last of them is the cause of the others.
ENDINGS: Tuple[Ending, ...] = (
    Ending(
        "ok",
        "every node ended well, the log is complete and the cell's own, and no check is broken",
        "",
        judged_by=CHECKS,
        group="ok",
        fails=False,
        junit="",
    ),
    Ending(
        "crashed",
        "a rank or its launcher ended with an error or by a signal; the reason quotes the line that"
        " names the error",
        "read the end of the log of the node that is named",
        judged_by=NODE,
        log_kinds=("traceback", "killed"),
        retriable=True,
        retried=True,
    ),
    Ending(
        "stalled",
        "rank 0 printed nothing for `cell_stall` seconds (600)",
        "look at the network between the nodes, and at the last lines of every node's output",
        judged_by=NODE,
        retriable=True,
        retried=True,
        ends_peers=True,
    ),
    Ending(
        "timeout",
        "not done after `cell_timeout` seconds (3600) on the node or, `cell_grace` (60) later, at"
        " the controller",
        "raise `cell_timeout`, or find out what made it slow",
        judged_by=NODE,
        retriable=True,
        retried=True,
    ),
    Ending(
        "launch_failed",
        "the command could not be started, or the node was lost: ssh, disk space, a missing"
        " program",
        "check that the node answers over ssh, has free space, and was provisioned",
        judged_by=NODE,
        retriable=True,
        retried=True,
        ends_peers=True,
    ),
    Ending(
        "out_of_memory",
        "the framework or the system ran out of memory; larger batches of the same cell are"
        " `skipped`",
        "choose a smaller `batch_size_per_device`, or search the largest with `max`",
        judged_by=LOG,
        log_kinds=("out_of_memory",),
        retriable=True,
    ),
    Ending(
        "nan_loss",
        "the loss became NaN",
        "lower the learning rate, or check precision and loss scaling",
        judged_by=LOG,
        log_kinds=("nan_loss",),
        retriable=True,
        junit="failure",
    ),
    Ending(
        "invalid",
        "the log is incomplete, contradicts the cell, or breaks a physical invariant (section"
        " Method of the report)",
        "read the reason and the log",
        judged_by=CHECKS,
        retriable=True,
        junit="failure",
    ),
    Ending(
        "wrong_transport",
        "the ranks' messages took another way between the nodes than expected, such as TCP instead"
        " of InfiniBand, or another interface",
        "compare `ibstat` on the node that is named with `scalebench_rdma_adapters`, and read the"
        " lines with `NET/` in the repeat's `*.files/nccl.*.log` there; of TCP see `ip route get`"
        " of the other nodes' addresses;"
        " `scalebench_transport` says what is expected; without it, InfiniBand where"
        " `scalebench_rdma_adapters` are named or all nodes have an active port of it",
        judged_by=CHECKS,
        retriable=True,
        junit="failure",
    ),
    Ending(
        "interrupted",
        "the controller went away, or the scheduler ended the job or the step",
        "run `bench.yml` again with `-e campaign=NAME`",
        judged_by=NODE,
        cut_short=True,
    ),
    Ending(
        "unavailable",
        "the benchmark cannot run on a node of the cell; the reason names it",
        "provision what is missing, or leave the cell out",
        judged_by=PLAN,
        group="unavailable",
        group_words="could not run here",
    ),
    Ending(
        "skipped",
        "not tried, because a smaller batch size of the same cell ran out of memory",
        "",
        judged_by=PLAN,
        group="skipped",
        fails=False,
        junit="skipped",
    ),
)


def ending_of_log(kind: Optional[str]) -> Optional[Ending]:
    """Return the ending that corresponds to the ending of a log; None if it is no failure."""
    return next((ending for ending in ENDINGS if kind in ending.log_kinds), None)


def ending_names(**wanted: object) -> Tuple[str, ...]:
    """Return the names of the endings that have these attributes, as ``ran=False``."""
    return tuple(
        ending.name
        for ending in ENDINGS
        if all(getattr(ending, key) == value for key, value in wanted.items())
    )


def never_ran(name: str) -> bool:
    """Return whether nothing is started for a repeat that ends so."""
    return name in ending_names(ran=False)


def says_nothing(name: str) -> bool:
    """Return whether a repeat that ends so says nothing about the nodes."""
    return never_ran(name) or name in ending_names(cut_short=True)


def groups() -> Tuple[str, ...]:
    """Return the lists of a cell that hold repeats without a speed, as ``failures``."""
    return tuple(dict.fromkeys(ending.group for ending in ENDINGS if ending.group != "ok"))


def count_key(group: str) -> str:
    """Return the name of a group in counts and in the states of cells."""
    return "failed" if group == "failures" else group


def group_words(group: str) -> str:
    """Return how a sentence says that a repeat is in a group: ``2 could not run here``."""
    words = (ending.group_words for ending in ENDINGS if ending.group == group)
    return next(filter(None, words), count_key(group))
