"""Strategies: named rules from the observations of a log to one throughput."""

from __future__ import annotations

from math import isfinite

from ..stats.rounding import ROUNDINGS, round_speed
from ._series import AVERAGES, chosen_run
from ._sources import FROM, devices_of
from ._table import COMMON, SOURCES, STRATEGIES, TO_ACCURACY, USUAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Optional, Tuple

    Given = Mapping[str, Any]

__all__ = ["STRATEGIES", "USUAL", "apply", "parameters_of", "usual"]

# Minimum of each whole-number parameter.
LEAST = {
    "warmup": 0,
    "iterations": 1,
    "drop_last": 0,
    "trim_least": 0,
    "devices": 1,
    "batch_size": 1,
    "batch_size_per_device": 1,
    "warmup_epochs": 0,
    "every": 1,
    "after_step": 0,
    "accumulation": 1,
}


def parameters_of(strategy: str, parameters: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    """Return all parameters of a strategy: its defaults, overridden by those given.

    :raises ValueError: unknown strategy or parameter, or an invalid value.
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"no strategy named {strategy!r:.80}: use one of {', '.join(STRATEGIES)}")
    rule = STRATEGIES[strategy]
    known = {**SOURCES[rule["source"]], **COMMON}
    known.update((key, value) for key, value in rule.items() if key in known)
    for key, value in (parameters or {}).items():
        if key not in known:
            raise ValueError(
                f"strategy {strategy} has no parameter {key!r:.80}: it has {', '.join(known)}"
            )
        known[key] = value if value is None and known[key] is None else _checked(key, value)
    return known


def apply(
    reading: Mapping[str, Any],
    strategy: str = "mean_after_warmup",
    parameters: Optional[Mapping[str, Any]] = None,
) -> Dict[str, Any]:
    """Return the throughput of a reading by a strategy.

    :param strategy: a key of :data:`STRATEGIES`, or ``auto`` for the usual one of the reader.
    :returns: ``throughput``, ``unit``, ``scope`` (what it refers to), ``count`` (observations
        used), ``steps`` (that they stand for, None of a figure that the log itself reckoned),
        ``run`` (from 1), and ``strategy`` with its name and all its parameters.
    :raises ValueError: the log lacks what the strategy needs, or a parameter is invalid.
    """
    if strategy == "auto":
        strategy = usual(reading)
    given = parameters_of(strategy, parameters)
    run = chosen_run(reading, given["run"])
    source = STRATEGIES[strategy]["source"]
    value, count = FROM[source](reading, run, given)
    scope = "global" if source in ("wall_clock", "table") else reading["scope"]
    if source == "observations" and given["batch_size"]:
        scope = "global"
    value, scope = _rescaled(value, scope, run, given)
    if not isfinite(value):
        raise ValueError(f"{strategy} gives {value}: the log has no usable throughput")
    return {
        "throughput": round_speed(value, given["rounding"]),
        "unit": reading["unit"],
        "scope": scope,
        "count": count,
        "steps": None if source in ("summary", "table") else count * run["steps_per_line"],
        "run": reading["runs"].index(run) + 1,
        "strategy": {"name": strategy, "parameters": given},
    }


def usual(reading: Given) -> str:
    """Return the strategy that ``auto`` stands for."""
    # Our own trainers print every iteration, in the format of any reader.
    if reading["own_trainer"]:
        return "mean_after_warmup"
    own = TO_ACCURACY if reading["identity"].get("mode") == "train_and_evaluate" else {}
    return {**USUAL, **own}.get(reading["reader"], "mean_after_warmup")


def _checked(key: str, value: Any) -> Any:
    choices: Dict[str, Tuple[Any, ...]] = {
        "rounding": tuple(ROUNDINGS),
        "round_each": tuple(ROUNDINGS),
        "average": tuple(AVERAGES),
        "scope": ("global", "per_device", "printed"),
        "by": ("observations", "steps"),
        "fewer": (False, True),
    }
    if key in choices and value not in choices[key]:
        raise ValueError(f"no {key} named {value!r:.80}: use one of {', '.join(choices[key])}")
    if key == "iterations" and value is None:
        return None
    whole = isinstance(value, int) and not isinstance(value, bool)
    if key in LEAST and not (whole and value >= LEAST[key]):
        raise ValueError(f"{key} is {value!r:.80}: a whole number from {LEAST[key]} up is needed")
    if key == "trim" and not (isinstance(value, (int, float)) and 0 <= value < 0.5):
        raise ValueError(f"trim is {value!r:.80}: a fraction from 0 to 0.5 is needed")
    return value


def _rescaled(value: float, scope: str, run: Given, given: Given) -> Tuple[float, str]:
    """Return a throughput converted to the requested scope, and that scope.

    :raises ValueError: the number of devices is needed and unknown.
    """
    wanted = given["scope"]
    if scope == "rank" and given.get("ranks", "auto") in ("auto", "sum"):
        scope = "global"
    if wanted in ("printed", scope):
        return value, scope
    devices = devices_of(run, given)
    if not devices:
        raise ValueError(f"the log prints {scope} throughput and no number of devices: set devices")
    return (value * devices if wanted == "global" else value / devices), wanted
