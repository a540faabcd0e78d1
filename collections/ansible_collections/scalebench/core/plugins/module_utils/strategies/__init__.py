"""Strategies: named rules from the observations of a log to one throughput."""

from __future__ import annotations

from math import fsum, isfinite

from ..rounding import ROUNDINGS
from ._rules import AVERAGES, interval, take
from ._series import chosen_run, series
from ._table import COMMON, SOURCES, STRATEGIES, USUAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

    Found = Tuple[float, int]

__all__ = ["STRATEGIES", "USUAL", "apply", "parameters_of"]


def parameters_of(strategy: str, parameters: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    """Return all parameters of a strategy, those given over its defaults.

    :raises ValueError: no such strategy, parameter, or a value of the wrong kind.
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"no strategy named {strategy!r}: use one of {', '.join(STRATEGIES)}")
    rule = STRATEGIES[strategy]
    known = {**SOURCES[rule["source"]], **COMMON}
    known.update((key, value) for key, value in rule.items() if key in known)
    for key, value in (parameters or {}).items():
        if key not in known:
            raise ValueError(
                f"strategy {strategy} has no parameter {key!r}: it has {', '.join(known)}"
            )
        known[key] = value if value is None and known[key] is None else _checked(key, value)
    return known


def apply(
    reading: Mapping[str, Any],
    strategy: str = "mean_after_warmup",
    parameters: Optional[Mapping[str, Any]] = None,
) -> Dict[str, Any]:
    """Return the throughput of a reading by a strategy.

    :param strategy: a key of :data:`STRATEGIES`, or ``auto``: the usual one for the reader.
    :returns: ``throughput``, ``unit``, ``scope`` (what it counts), ``count`` (observations used),
        ``run``, and ``strategy`` with its name and all its parameters.
    :raises ValueError: the log has not what the strategy needs, or a parameter is wrong.
    """
    if strategy == "auto":
        strategy = USUAL.get(reading["reader"], "mean_after_warmup")
    given = parameters_of(strategy, parameters)
    run = chosen_run(reading, given["run"])
    source = STRATEGIES[strategy]["source"]
    value, count = FROM[source](reading, run, given)
    scope = reading["scope"] if source != "wall_clock" else "global"
    value, scope = _rescaled(value, scope, run, given)
    if not isfinite(value):
        raise ValueError(f"{strategy} gives {value}: the log has no usable throughput")
    return {
        "throughput": ROUNDINGS[given["rounding"]](value),
        "unit": reading["unit"],
        "scope": scope,
        "count": count,
        "run": reading["runs"].index(run) + 1,
        "strategy": {"name": strategy, "parameters": given},
    }


def _checked(key: str, value: Any) -> Any:
    kinds: Dict[str, Tuple[Any, ...]] = {"rounding": tuple(ROUNDINGS), "average": tuple(AVERAGES)}
    kinds["round_each"] = kinds["rounding"]
    kinds["scope"] = ("global", "per_device", "printed")
    if key in kinds and value not in kinds[key]:
        raise ValueError(f"no {key} named {value!r}: use one of {', '.join(kinds[key])}")
    if key == "iterations" and value is None:
        return None
    if key in ("warmup", "iterations", "drop_last", "trim_least", "devices", "batch_size"):
        least = 1 if key in ("iterations", "devices", "batch_size") else 0
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{key} is {value!r}: a whole number from {least} up is needed")
    if key == "trim" and not (isinstance(value, (int, float)) and 0 <= value < 1):
        raise ValueError(f"trim is {value!r}: a share from 0 to 1 is needed")
    return value


def _observations(
    reading: Mapping[str, Any], run: Mapping[str, Any], given: Mapping[str, Any]
) -> Found:
    values: List[float] = series(reading, run, "throughput", given["ranks"], given["round_each"])
    if not values:
        raise ValueError(f"no throughput printed in {run['count']} observations")
    beyond = reading["observations"].beyond
    if beyond["count"] and given["iterations"] is None:
        return _beyond(values, beyond, given)
    taken = take(values, given["warmup"], given["iterations"], given["drop_last"])
    extra = [given["trim"], given["trim_least"]] if given["average"] == "trimmed" else []
    return AVERAGES[given["average"]](taken, *extra), len(taken)


def _beyond(values: List[float], beyond: Mapping[str, Any], given: Mapping[str, Any]) -> Found:
    """Average also what is no longer kept one by one; only a mean can be made of its totals."""
    taken = take(values, given["warmup"], None, 0)
    count = len(taken) + beyond["count"]
    if given["drop_last"] or given["average"] not in ("mean", "harmonic"):
        raise ValueError(
            f"{given['average']} needs every observation; of {len(values) + beyond['count']} the"
            f" first {len(values)} are kept: set iterations, or read with a higher limit"
        )
    if given["average"] == "mean":
        return (fsum(taken) + beyond["sum"]) / count, count
    return count / (fsum(1 / value for value in taken) + beyond["reciprocals"]), count


def _wall_clock(
    reading: Mapping[str, Any], run: Mapping[str, Any], given: Mapping[str, Any]
) -> Found:
    stamps = series(reading, run, "timestamp", "first", "none")
    steps = series(reading, run, "step", "first", "none")
    first = given["warmup"]
    final = first + given["iterations"] if given["iterations"] else len(stamps)
    elapsed = interval(stamps, first, final)
    passed = float(final - first)
    if len(steps) == len(stamps) and steps[final - 1] > steps[first - 1]:
        passed = steps[final - 1] - steps[first - 1]
    return _batch(run, given) * passed / elapsed, final - first


def _batch(run: Mapping[str, Any], given: Mapping[str, Any]) -> float:
    identity = run["identity"]
    batch = given["batch_size"] or identity.get("global_batch_size")
    if not batch:
        per_device, devices = identity.get("batch_size_per_device"), _devices(run, given)
        if not per_device or not devices:
            raise ValueError("the log does not say how many images a step has: set batch_size")
        batch = per_device * devices
    return float(batch)


def _summary(reading: Mapping[str, Any], run: Mapping[str, Any], given: Mapping[str, Any]) -> Found:
    summary = run["summary"]
    key = given["key"] or summary.get("throughput_key")
    value = summary.get(key) if key else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"no number named {key!r} in the log's summary: it has {sorted(summary)}")
    return float(value), 1


def _devices(run: Mapping[str, Any], given: Mapping[str, Any]) -> Optional[int]:
    devices: Optional[int] = given["devices"] or run["identity"].get("world_size")
    return devices


def _rescaled(
    value: float, scope: str, run: Mapping[str, Any], given: Mapping[str, Any]
) -> Tuple[float, str]:
    """Turn a throughput of one scope into the scope that is asked for."""
    wanted = given["scope"]
    scope = "global" if scope == "rank" and given["ranks"] in ("auto", "sum") else scope
    if wanted in ("printed", scope):
        return value, scope
    devices = _devices(run, given)
    if not devices:
        raise ValueError(
            f"the throughput is {scope} and the log names no number of devices: set devices"
        )
    return (value * devices if wanted == "global" else value / devices), wanted


FROM: Dict[str, Callable[..., Found]] = {
    "observations": _observations,
    "wall_clock": _wall_clock,
    "summary": _summary,
}
