"""From the reading of one log to its facts: a throughput, and what stands beside it."""

from __future__ import annotations

from .. import strategies
from ..strategies._rules import middle
from ..strategies._series import chosen_run, series
from .time_to_train import time_to_train
from .within_run import steady_state, within_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Sequence

__all__ = ["contradictions", "log_facts"]


def log_facts(
    reading: Mapping[str, Any],
    strategy: str = "mean_after_warmup",
    parameters: Optional[Mapping[str, Any]] = None,
    expect: Optional[Mapping[str, Any]] = None,
    path: str = "",
    observations: bool = False,
    target_accuracy: Optional[float] = None,
) -> Dict[str, Any]:
    """Return the facts of one log.

    A log that does not give the strategy what it needs, or that is not of the cell it is said to
    be of, has ``throughput: null`` and says why in ``reason``: a failed run is a result as well.

    :param reading: what ``logs.read`` returned.
    :param expect: identity that the log must not contradict, as ``{batch_size_per_device: 128}``.
    :param observations: also return every observation.
    :param target_accuracy: top-1 accuracy in percent that ``time_to_train`` looks for.
    :raises ValueError: no such strategy, or no such parameter.
    """
    if strategy == "auto":
        strategy = strategies.usual(reading)
    given = strategies.parameters_of(strategy, parameters)
    reason = ""
    result: Dict[str, Any] = {
        "throughput": None,
        "count": 0,
        "run": None,
        "scope": reading["scope"],
    }
    try:
        result.update(strategies.apply(reading, strategy, parameters))
    except ValueError as error:
        reason = str(error)
    run = _run(reading, given)
    problems = contradictions(run["identity"], expect or {})
    if problems:
        reason, result["throughput"] = "; ".join(problems), None
    facts = {
        "path": path,
        "reader": reading["reader"],
        "identity": run["identity"],
        "ending": run["ending"],
        "throughput": result["throughput"],
        "unit": reading["unit"],
        "scope": result["scope"],
        "strategy": {"name": strategy, "parameters": given},
        "count": result["count"],
        "printed": run["count"],
        "run": result["run"],
        "runs": len(reading["runs"]),
        "valid": not problems,
        "reason": reason,
        "summary": run["summary"],
    }
    facts.update(_measures(reading, run, given))
    reached = time_to_train(reading, run, target_accuracy)
    facts["time_to_train"] = reached
    facts["accuracy"] = reached["best_accuracy"] if reached else None
    if observations:
        facts["observations"] = list(reading["observations"])
    return facts


def contradictions(identity: Mapping[str, Any], expect: Mapping[str, Any]) -> List[str]:
    """List where an identity differs from what is expected; what the log does not say passes.

    Text is compared without regard to case, and numbers by value.
    """
    found = []
    for key, wanted in expect.items():
        said = identity.get(key)
        if said is None or wanted is None:
            continue
        if said != wanted and str(said).lower() != str(wanted).lower():
            found.append(f"the log says {key} {said}, expected {wanted}")
    return found


def _run(reading: Mapping[str, Any], given: Mapping[str, Any]) -> Dict[str, Any]:
    try:
        return chosen_run(reading, given["run"])
    except ValueError:
        run: Dict[str, Any] = reading["runs"][-1]
        return run


def _measures(
    reading: Mapping[str, Any], run: Mapping[str, Any], given: Mapping[str, Any]
) -> Dict[str, Any]:
    """Return what stands beside the throughput: wall clock, loss, steadiness, memory, accuracy."""
    ranks = given.get("ranks", "auto")
    ranks = "auto" if given.get("by") else ranks
    try:
        values = series(reading, run, "throughput", ranks, given["devices"])
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
    """Return the ends of the loss, and the medians of its first and last quarter."""
    if not losses:
        return None
    quarter = max(1, len(losses) // 4)
    return {
        "first": losses[0],
        "last": losses[-1],
        "first_quarter": middle(losses[:quarter]),
        "last_quarter": middle(losses[-quarter:]),
    }


def _harmonic(reading: Mapping[str, Any], given: Mapping[str, Any]) -> Optional[float]:
    """Return the harmonic mean of the rates: samples over the sum of the steps' times."""
    keys = ("run", "scope", "devices", "warmup", "iterations", "ranks")
    try:
        wanted = {key: given[key] for key in keys if key in given}
        found: float = strategies.apply(reading, "harmonic_mean", wanted)["throughput"]
    except ValueError:
        return None
    return found


def _wall_clock(reading: Mapping[str, Any], given: Mapping[str, Any]) -> Optional[float]:
    """Return the wall-clock throughput over the same observations, None where it cannot be had."""
    wanted = {
        key: given[key]
        for key in ("run", "scope", "devices", "warmup", "iterations")
        if key in given
    }
    if not wanted.get("warmup"):
        # The clock starts with the first time printed, which ends an iteration.
        wanted["warmup"] = 1
        count = wanted.get("iterations")
        wanted["iterations"] = None if count is None else max(1, count - 1)
    try:
        found: float = strategies.apply(reading, "wall_clock", wanted)["throughput"]
    except ValueError:
        return None
    return found
