"""How a repeat can end: one table, read by planning, retry, records, results and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Optional, Tuple

__all__ = ["BY_NAME", "ENDINGS", "Ending", "ending_names"]


@dataclass(frozen=True)
class Ending:
    """One entry of the table.

    ``title``: its name in a heading. ``words``: what it means. ``advice``: what the user can do.
    ``ran``: something was started for the repeat. ``retriable``: another attempt may end otherwise,
    so that a retry policy may name it; ``retried``: the default policy does.
    ``cause``: its rank among the endings of several nodes, of which the lowest is taken for the
    cause of the others; None where no node ends so. ``told_by_log``: the log tells it more exactly
    than an exit code. ``group``: where a report counts it.
    """

    name: str
    title: str
    words: str
    advice: str = ""
    ran: bool = True
    retriable: bool = False
    retried: bool = False
    cause: Optional[int] = None
    told_by_log: bool = False
    group: str = "failures"


ENDINGS: Tuple[Ending, ...] = (
    Ending("ok", "ok", "it ended well and its log gives a valid throughput", group="ok"),
    Ending(
        "out_of_memory",
        "out of memory",
        "the framework or the system ran out of memory",
        "choose a smaller batch_size_per_device, or search the largest with max",
        retriable=True,
        told_by_log=True,
    ),
    Ending(
        "nan_loss",
        "loss is not a number",
        "the loss became NaN",
        "lower the learning rate, or check precision and loss scaling",
        retriable=True,
        told_by_log=True,
    ),
    Ending(
        "stalled",
        "stalled",
        "nothing was printed for longer than cell_stall",
        "look at the network between the nodes and at the last lines of every node's output",
        retriable=True,
        retried=True,
        cause=3,
    ),
    Ending(
        "timeout",
        "timed out",
        "it took longer than cell_timeout",
        "raise cell_timeout, or find out what made it slow",
        retriable=True,
        retried=True,
        cause=2,
    ),
    Ending(
        "crashed",
        "crashed",
        "a process ended with an error",
        "read the end of the log of the node that is named",
        retriable=True,
        retried=True,
        cause=4,
    ),
    Ending(
        "launch_failed",
        "not launched",
        "the command could not be started, or the node was lost",
        "check that the node answers over ssh, has room, and was provisioned",
        retriable=True,
        retried=True,
        cause=1,
    ),
    Ending(
        "invalid",
        "invalid",
        "the log is incomplete, or contradicts the cell or a physical invariant",
        "read the reason and the log",
        retriable=True,
    ),
    Ending(
        "unavailable",
        "unavailable",
        "it cannot run on these nodes",
        "provision what is missing, or leave the cell out",
        ran=False,
        group="unavailable",
    ),
    Ending(
        "interrupted",
        "interrupted",
        "the playbook was interrupted",
        "run bench.yml again with -e campaign=NAME",
        cause=0,
    ),
    Ending(
        "skipped",
        "skipped",
        "a smaller batch of the same cell ran out of memory",
        ran=False,
        group="skipped",
    ),
)
BY_NAME: Dict[str, Ending] = {ending.name: ending for ending in ENDINGS}


def ending_names(**wanted: object) -> Tuple[str, ...]:
    """Return the names of the endings that have these attributes, as ``ran=False``."""
    return tuple(
        ending.name
        for ending in ENDINGS
        if all(getattr(ending, key) == value for key, value in wanted.items())
    )
