"""From one log to its facts: a throughput by a strategy, and the measures beside it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import fsum, sqrt

from .. import logs, strategies
from ..records.shape import MEASURED, check_plain
from ..strategies._series import chosen_run, middle, series
from ..strategies._sources import counted
from ..strategies._table import COMMON
from .time_to_train import time_to_train
from .within_run import steady_state, within_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Sequence

    from ..records.runs import LogFacts, Message

__all__ = ["AUTO", "facts_of_text", "log_facts", "log_rule", "reading_of_text"]

# The strategy that stands for the benchmark's own, or the usual one of the log's format.
AUTO = "auto"
# Of the summary of a run, what is a fact of its own.
_APART = ("waits", "message")
# Campaigns that were planned before benchmarks named a rule.
_USUAL = {"reader": "auto", "strategy": "mean_after_warmup", "parameters": {}}


def log_rule(
    cell: Mapping[str, Any], strategy: str = AUTO, parameters: Optional[Mapping[str, Any]] = None
) -> Dict[str, Any]:
    """Return ``reader``, ``strategy`` and ``parameters`` for the logs of a cell.

    Warm-up and iterations are the cell's, unless the benchmark or the user says otherwise.

    :param cell: planned; its benchmark's rule is ``reading``.
    :param strategy: what the user asks for.
    :param parameters: of the strategy; they take precedence over those of the benchmark.
    :raises ValueError: an unknown strategy.
    """
    planned: Mapping[str, Any] = cell.get("reading") or _USUAL
    name = planned["strategy"] if strategy == AUTO else strategy
    known = strategies.parameters_of(name)
    own = {key: cell[key] for key in ("warmup", "iterations") if cell.get(key) and key in known}
    if name == planned["strategy"]:
        own.update(planned["parameters"])
    return {
        "reader": planned["reader"],
        "strategy": name,
        "parameters": {**own, **(parameters or {})},
    }


def reading_of_text(text: str, reader: str = "auto", name: str = "log") -> Dict[str, Any]:
    """Return what ``logs.read`` does, with the observations as a list of dicts.

    :raises ValueError: not text, empty, or of no known format; it names the log and the cause.
    """
    reading = logs.read(text, reader=reader, name=name)
    return {**reading, "observations": list(reading["observations"])}


def facts_of_text(
    text: str,
    strategy: str = "mean_after_warmup",
    parameters: Optional[Mapping[str, Any]] = None,
    reader: str = "auto",
    expect: Optional[Mapping[str, Any]] = None,
    target_accuracy: Optional[float] = None,
    name: str = "log",
) -> LogFacts:
    """Return the facts of a log that is at hand as text; see :func:`log_facts`.

    :raises ValueError: as :func:`reading_of_text`; or no such strategy or parameter.
    """
    reading = logs.read(text, reader=reader, name=name, known=expect)
    return log_facts(
        reading, strategy, parameters, expect, path=name, target_accuracy=target_accuracy
    )


def log_facts(
    reading: Mapping[str, Any],
    strategy: str = "mean_after_warmup",
    parameters: Optional[Mapping[str, Any]] = None,
    expect: Optional[Mapping[str, Any]] = None,
    path: str = "",
    observations: bool = False,
    target_accuracy: Optional[float] = None,
) -> LogFacts:
    """Return the facts of one log.

    A log that does not give the strategy what it needs, or that contradicts ``expect``, has
    ``throughput: null`` and says why in ``reason``: a failed run is a result as well.

    :param reading: what ``logs.read`` returned.
    :param expect: identity that the log must not contradict, as ``{batch_size_per_device: 128}``.
    :param observations: also return every observation.
    :param target_accuracy: top-1 accuracy in percent that ``time_to_train`` looks for.
    :raises ValueError: no such strategy, or no such parameter; what the log states gives no facts
        that a record may hold, with the path.
    """
    if strategy == AUTO:
        strategy = strategies.usual(reading)
    given = strategies.parameters_of(strategy, parameters)
    try:
        facts = _facts(reading, strategy, given, expect or {}, path, target_accuracy)
        check_plain(facts, largest=MEASURED)
    except ValueError as error:
        raise ValueError(f"{path or 'log'}: it gives no facts: {error}") from None
    except logs.UNFORESEEN as error:
        raise logs.unforeseen(path, error) from None
    if observations:
        facts["observations"] = list(reading["observations"])
    return facts


def _facts(
    reading: Mapping[str, Any],
    strategy: str,
    given: Dict[str, Any],
    expect: Mapping[str, Any],
    path: str,
    target_accuracy: Optional[float],
) -> LogFacts:
    reason = ""
    result: Dict[str, Any] = {
        "throughput": None,
        "count": 0,
        "steps": None,
        "run": None,
        "scope": reading["scope"],
    }
    try:
        result.update(strategies.apply(reading, strategy, given))
    except ValueError as error:
        reason = str(error)
    run = _run(reading, given)
    problems = _contradictions(run["identity"], expect)
    if problems:
        reason, result["throughput"] = "; ".join(problems), None
    reached = time_to_train(reading, run, target_accuracy)
    facts: LogFacts = {
        "path": path,
        "reader": reading["reader"],
        "identity": run["identity"],
        "ending": run["ending"],
        "throughput": result["throughput"],
        "unit": reading["unit"],
        "scope": result["scope"],
        "strategy": {"name": strategy, "parameters": given},
        "count": result["count"],
        "steps": result["steps"],
        "printed": run["count"],
        "run": result["run"],
        "runs": len(reading["runs"]),
        "valid": not problems,
        "reason": reason,
        "summary": {key: one for key, one in run["summary"].items() if key not in _APART},
        **_measures(reading, run, given),
        "time_to_train": reached,
        "accuracy": reached["best_accuracy"] if reached else None,
    }
    if "waits" in run["summary"]:
        facts["waits"] = run["summary"]["waits"]
    message = _message(reading, given, run)
    if message:
        facts["message"] = message
    return facts


def _contradictions(identity: Mapping[str, Any], expect: Mapping[str, Any]) -> List[str]:
    """Return where an identity differs from what is expected; what the log does not state passes.

    Text is compared without regard to case, and numbers by value.
    """
    differences = []
    for key, wanted in expect.items():
        logged = identity.get(key)
        if logged is None or wanted is None:
            continue
        if logged != wanted and str(logged).lower() != str(wanted).lower():
            differences.append(f"the log says {key} {logged}, expected {wanted}")
    return differences


def _run(reading: Mapping[str, Any], given: Mapping[str, Any]) -> Dict[str, Any]:
    try:
        return chosen_run(reading, given["run"])
    except ValueError:
        run: Dict[str, Any] = reading["runs"][-1]
        return run


def _measures(
    reading: Mapping[str, Any], run: Mapping[str, Any], given: Mapping[str, Any]
) -> LogFacts:
    """Return the measures beside the throughput: wall clock, loss, memory, steadiness."""
    ranks = given.get("ranks", "auto")
    ranks = "auto" if given.get("by") else ranks
    try:
        values = series(reading, run, "throughput", ranks, given["devices"])
        values = counted(reading, run, values, given.get("every"))
    except ValueError:
        values = ()
    warmup = given.get("warmup", 0)
    iterations = given.get("iterations")
    used = values[warmup : None if iterations is None else warmup + iterations]
    loss, memory = (series(reading, run, field, "first") for field in ("loss", "memory"))
    summary = run["summary"]
    return {
        "wall_clock_throughput": _wall_clock(reading, given),
        "harmonic_throughput": _harmonic(reading, given),
        "loss": _loss(loss),
        "memory": summary.get("peak_memory_mib", max(memory) if memory else None),
        "steady_state": steady_state(values),
        "within_run": within_run(used),
    }


def _loss(losses: Sequence[float]) -> Optional[Dict[str, float]]:
    """Return the ends of the loss, the medians of its first and last quarter, and its rise.

    ``rise_z`` is the z of the test of Mann and Whitney (1947, doi 10.1214/aoms/1177730491) that the
    last quarter lies above the first: noise alone exceeds 3 in one run of 700.
    """
    if not losses:
        return None
    quarter = max(1, len(losses) // 4)
    return {
        "first": losses[0],
        "last": losses[-1],
        "first_quarter": middle(losses[:quarter]),
        "last_quarter": middle(losses[-quarter:]),
        "rise_z": _rise(sorted(losses[:quarter]), losses[-quarter:]),
    }


def _rise(first: Sequence[float], last: Sequence[float]) -> float:
    """Return the z of the number of pairs in which the last is above the first, in order."""
    count = len(first)
    above = fsum((bisect_left(first, one) + bisect_right(first, one)) / 2 for one in last)
    return (above - count**2 / 2) / (count * sqrt((2 * count + 1) / 12))


def _message(
    reading: Mapping[str, Any], given: Mapping[str, Any], run: Mapping[str, Any]
) -> Optional[Message]:
    """Return the message of a log of collective operations with the mean duration of one."""
    stated = run["summary"].get("message")
    rate = _harmonic(reading, given, rounding="none") if stated else None
    if not stated or not rate:
        return None
    return {
        "collective": stated["collective"],
        "bytes": stated["bytes"],
        "busbw_factor": stated["busbw_factor"],
        "seconds": stated["bytes"] * stated["busbw_factor"] / (rate * 1e6),
        "backend": run["identity"].get("backend"),
    }


def _harmonic(
    reading: Mapping[str, Any], given: Mapping[str, Any], rounding: str = COMMON["rounding"]
) -> Optional[float]:
    """Return the harmonic mean of the same rates: samples over the sum of the steps' times."""
    what = ("warmup", "iterations", "drop_last", "fewer", "every")
    keys = ("run", "scope", "devices", "batch_size", "ranks", *what)
    try:
        wanted = {key: given[key] for key in keys if key in given}
        wanted["rounding"] = rounding
        rate: float = strategies.apply(reading, "harmonic_mean", wanted)["throughput"]
    except ValueError:
        return None
    return rate


def _wall_clock(reading: Mapping[str, Any], given: Mapping[str, Any]) -> Optional[float]:
    """Return the wall-clock throughput over the same observations, None without time stamps."""
    wanted = {
        key: given[key]
        for key in ("run", "scope", "devices", "warmup", "iterations")
        if key in given
    }
    wanted.setdefault("iterations", None)
    every = given.get("every")
    if every:
        # Warm-up and iterations count the lines of these steps.
        wanted["by"] = "steps"
        wanted.update(
            {key: wanted[key] and wanted[key] * every for key in ("warmup", "iterations")}
        )
    if not wanted.get("warmup"):
        # The clock starts with the first time printed, which ends an iteration.
        wanted["warmup"] = 1
        count = wanted["iterations"]
        wanted["iterations"] = None if count is None else max(1, count - 1)
    try:
        rate: float = strategies.apply(reading, "wall_clock", wanted)["throughput"]
    except ValueError:
        return None
    return rate
