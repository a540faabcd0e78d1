"""The run record of a repeat, as ``.run.json`` beside its log holds it, and what it is made of."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, TypedDict, cast

from .plans import Cell, check_cell, check_kinds

__all__ = [
    "Disturbance",
    "LogEnding",
    "LogFacts",
    "NodeRun",
    "RunRecord",
    "TimeToTrain",
    "check_cell",
    "check_run",
]


_RECORD = {
    **{"nodes": "a mapping of mappings", "disturbances": "a list of mappings"},
    **{"packed_with": "a list of texts", "facts": "a mapping", "seconds": "a number"},
    **{"ending": "a text", "reason": "a text"},
}
_STRATEGY = {"name": "a text", "parameters": "a mapping"}
_FACTS = {"strategy": "a mapping", "ending": "a mapping", "time_to_train": "a mapping"}


class LogEnding(TypedDict):
    """How a log ends; ``kind`` is complete, truncated, out_of_memory, nan_loss, traceback, killed.

    ``detail`` is the line that shows it.
    """

    kind: str
    detail: str


class TimeToTrain(TypedDict):
    """Times in s and accuracies in percent of one training; see ``facts.time_to_train``."""

    total_time: Optional[float]
    time_to_target: Optional[float]
    target_accuracy: Optional[float]
    target_epoch: Optional[int]
    best_accuracy: Optional[float]
    best_epoch: Optional[int]
    final_accuracy: Optional[float]
    evaluations: int
    epochs: Optional[int]
    end_to_end_throughput: Optional[float]


class LogFacts(TypedDict, total=False):
    """The facts of one log (``facts.log_facts``); speeds are in ``unit``, memory in MiB."""

    path: str
    reader: str
    identity: Dict[str, Any]
    ending: LogEnding
    throughput: Optional[float]
    unit: str
    scope: str
    strategy: Dict[str, Any]
    count: int
    steps: Optional[int]
    printed: int
    run: Optional[int]
    runs: int
    valid: bool
    reason: str
    summary: Dict[str, Any]
    wall_clock_throughput: Optional[float]
    harmonic_throughput: Optional[float]
    loss: Optional[Dict[str, float]]
    memory: Optional[float]
    steady_state: Dict[str, Any]
    within_run: Dict[str, Any]
    time_to_train: Optional[TimeToTrain]
    accuracy: Optional[float]
    observations: List[Any]


class NodeRun(TypedDict, total=False):
    """What a record keeps of the result of module training_run on one node.

    ``ended`` and ``strays`` are numbers of processes, ``transport`` is what connects its ranks to
    each other and to those of other nodes (``logs.nccl``).
    """

    rank: int
    argv: List[str]
    env: Dict[str, str]
    started: str
    node: str
    exit_code: Optional[int]
    ending: str
    reason: str
    seconds: float
    ended: int
    strays: int
    telemetry: Optional[Dict[str, Any]]
    memory_mib: Optional[int]
    device_users: List[str]
    transport: List[str]


class Disturbance(TypedDict):
    """Something else that took part in a repeat, on which node."""

    kind: str
    node: str
    detail: str


class _Run(TypedDict):
    cell: Cell
    repeat: int
    log: str
    ending: str
    reason: str
    facts: Optional[LogFacts]


class RunRecord(_Run, total=False):
    """One repeat, or one attempt at it.

    ``ending`` is one of ``endings.ENDINGS``. ``kind`` is measured, search (for the largest batch)
    or alone (a packed repeat run again by itself). Records of schema 1 have the first six
    keys only, logs that no campaign made also ``warnings``.
    """

    schema: int
    campaign: str
    session: str
    recorded: str
    attempt: int
    kind: str
    why: str
    warnings: List[str]
    packed_with: List[str]
    shares_machine: bool
    oversubscribed: Optional[bool]
    started: Optional[str]
    memory_mib: Optional[int]
    seconds: float
    disturbances: List[Disturbance]
    nodes: Dict[str, NodeRun]
    # Set on reading, where the log is not there any more.
    log_is_gone: bool


def check_run(data: Any, log: str) -> RunRecord:
    """Return a run record of any schema as it was read.

    :param log: the path of its log in the campaign; the one in the record may be of another place.
    :raises ValueError: it is damaged.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"a run record is a mapping, not {data!r}")
    for key in ("cell", "repeat"):
        if key not in data:
            raise ValueError(f"it has no {key}")
    check_cell(data["cell"])
    check_kinds(data, _RECORD, "the record", optional=True)
    facts = data.get("facts") or {}
    check_kinds(facts, _FACTS, "facts", optional=True)
    if facts.get("strategy"):
        check_kinds(facts["strategy"], _STRATEGY, "the strategy")
    for name, node in (data.get("nodes") or {}).items():
        check_kinds(node, {"telemetry": "a mapping"}, name, optional=True)
    try:
        repeat = int(data["repeat"])
    except (TypeError, ValueError):
        raise ValueError(f"repeat is {data['repeat']!r}, not a whole number") from None
    defaults = {"ending": "invalid", "reason": ""}
    return cast(
        RunRecord,
        {
            **data,
            **{key: data.get(key) or value for key, value in defaults.items()},
            "log": log,
            "repeat": repeat,
            "facts": dict(facts) if facts else None,
        },
    )
