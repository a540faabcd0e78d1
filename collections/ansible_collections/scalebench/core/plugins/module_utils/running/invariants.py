"""Physical invariants of one repeat: what the facts of an honest run cannot contradict."""

from __future__ import annotations

from math import isfinite
from typing import Any, Callable, Dict, Iterator, List, Optional

from ..models.figures import differences, other_model
from ..records.plans import Cell
from ..records.results import Finding
from ..records.runs import LogFacts

__all__ = ["RULES", "broken", "is_throughput", "steps_measured"]


# For the report: what each rule says, and where it comes from.
RULES: Dict[str, Dict[str, str]] = {
    "throughput_positive": {
        "about": "The throughput is a finite number above 0.000001 and below 10^15.",
        "source": "a run that did its steps took a finite time for them",
    },
    "rate_times_time": {
        "about": "Throughput times step time is the global batch: the time that the printed rates"
        " need for the samples is the time that passed on the clock.",
        "source": "definition of throughput; Fleming and Wallace 1986 (doi 10.1145/5666.5673) on"
        " means of rates",
    },
    "unit": {
        "about": "The log counts what the benchmark does.",
        "source": "the benchmark's unit; samples/s is the name of any unit that a batch counts",
    },
    "model": {
        "about": "The model whose dimensions a log states is the planned one.",
        "source": "the benchmark's name and parameters of its model, and the factors of the cell",
    },
    "model_flops": {
        "about": "The FLOP/s and the MFU that a log prints are those of its model, its throughput"
        " and its peak.",
        "source": "the formulas of module_utils/models/flops.py",
    },
    "ranks": {
        "about": "As many ranks trained as planned, and on the planned global batch.",
        "source": "data parallelism: global batch = ranks x batch size per device",
    },
    "steps": {
        "about": "As many steps were run and measured as planned.",
        "source": "the cell's warmup and iterations",
    },
    "loss_finite": {
        "about": "Every loss is a finite number.",
        "source": "IEEE 754: nothing that is computed from NaN is a result",
    },
    "loss_falling": {
        "about": "The loss of the last quarter of the steps is not above that of the first by a"
        " quarter of it and beyond its noise.",
        "source": "gradient descent lowers the loss that it follows; limits from 62 real logs;"
        " Mann and Whitney 1947 (doi 10.1214/aoms/1177730491)",
    },
}
# Bounds of clock time / printed time. In the 102 published logs with both it is 0.97 to 1.04, in
# our own trainer's 1.00. What lies between steps (a checkpoint) is on the clock only, so above 1
# is more room. The errors to catch (a rank's rate taken for all, a wrong batch, a timer that does
# not wait for the GPU) are factors of 2 and more.
_SHORTEST, _LONGEST = 0.9, 1.5
# Seconds of either time that prove nothing: many logs print whole seconds.
_CLOCK_STEP = 1.0
# An honest loss may overshoot at its start: of 57 published logs, cut at every length, none rises
# by more than 5.1 % from 40 values on, but some double within 20. The published programs on a CPU,
# with batches of 2 to 4 samples, rise by up to 17 % within 120 steps.
_LEAST_LOSSES, _MOST_RISE = 40, 1.25
# Of flat losses with 20 % of noise 1.8 % rise so far in 40 steps, with 50 % 20 %; so the quarters
# must differ beyond noise too, which leaves 0.1 % of either.
_LEAST_RISE_Z = 3.0


def broken(cell: Cell, facts: LogFacts) -> List[Finding]:
    """Return the invariants that a repeat breaks, each ``{"rule", "detail"}``, in order of RULES.

    What the cell or the facts do not state breaks nothing. Not detected: wrong rates in a run of a
    few seconds (many clocks print whole seconds), a constant loss or one of fewer than 40 steps,
    and where the facts have no ``harmonic_throughput``, a printed rate that is too high.

    :param cell: one of ``matrix.expand``.
    :param facts: what ``facts.log_facts`` returned. Of ``loss``, ``first_quarter`` and
        ``last_quarter`` are medians; ``harmonic_throughput`` is n / sum(1 / rate) of the
        observations that ``throughput`` is the mean of and in its unit.
    """
    return [
        {"rule": rule, "detail": detail} for rule in RULES for detail in _CHECKS[rule](cell, facts)
    ]


def steps_measured(facts: LogFacts) -> Optional[int]:
    """Return the steps that the throughput is of; None of a figure that the log itself reckoned.

    Records of version 0.1 count lines, of which every one stands for a step.
    """
    return facts.get("steps", facts.get("count"))


def is_throughput(value: Any) -> bool:
    """Return whether a value is a number above 1e-6, a sample in twelve days, and below 1e15."""
    return isinstance(value, (int, float)) and 1e-6 < value < 1e15


def _throughput_positive(_cell: Cell, facts: LogFacts) -> Iterator[str]:
    speed = facts.get("throughput")
    if speed is not None and not is_throughput(speed):
        yield f"the throughput is {speed} {facts.get('unit', '')}".rstrip()


def _rate_times_time(cell: Cell, facts: LogFacts) -> Iterator[str]:
    """Compare the time that the printed rates need with the time on the clock.

    The arithmetic mean of rates is above samples / time in every run that is not quite even
    (Jensen's inequality; by 13 % in a real log), so it can only show a rate that is too low. The
    harmonic mean is samples / time itself, however noisy the steps, and shows both.
    """
    of_sample = cell.get("units_per_sample") or 1
    samples = (_global_batch(cell) or 0) * (steps_measured(facts) or 0) * of_sample
    clock = _rate(facts.get("wall_clock_throughput"))
    harmonic = _rate(facts.get("harmonic_throughput"))
    rate = harmonic or _rate(facts.get("throughput"))
    if not (samples and clock and rate) or facts.get("scope", "global") != "global":
        return
    printed, passed = samples / rate, samples / clock
    # An evaluation between two steps takes any time, and none of it is printed.
    bounded = harmonic and not facts.get("time_to_train")
    too_short = passed < _SHORTEST * printed - _CLOCK_STEP
    too_long = bounded and passed > _LONGEST * printed + _CLOCK_STEP
    if too_short or too_long:
        unit = str(facts.get("unit", "samples/s")).partition("/")[0]
        yield (
            f"{samples} {unit} need {printed:.1f} s by the printed rates, and took {passed:.1f} s"
            " by the clock"
        )


def _unit(cell: Cell, facts: LogFacts) -> Iterator[str]:
    planned, logged = cell.get("unit"), facts.get("unit")
    any_name = logged == "samples/s" and not cell.get("units_per_sample")
    if planned and logged and logged != planned and not any_name:
        usual = ", the usual unit of iteration_line: pass unit=" if logged == "images/s" else ""
        yield f"the log counts {logged}, planned were {planned}{usual}"


def _ranks(cell: Cell, facts: LogFacts) -> Iterator[str]:
    identity = facts.get("identity") or {}
    devices = _devices(cell)
    planned = {
        "nodes": cell.get("nodes"),
        "devices_per_node": cell.get("devices_per_node"),
        "world_size": devices,
        "ranks_seen": devices,
        "global_batch_size": _global_batch(cell),
    }
    for key, wanted in planned.items():
        if None not in (wanted, identity.get(key)) and identity[key] != wanted:
            yield f"{key} is {identity[key]}, planned were {wanted}"


def _steps(cell: Cell, facts: LogFacts) -> Iterator[str]:
    warmup, iterations = cell.get("warmup"), cell.get("iterations")
    if warmup is None or iterations is None:
        return
    measured = steps_measured(facts)
    if facts.get("throughput") is not None and measured not in (None, iterations):
        yield f"{measured} iterations were measured, planned were {iterations}"
    logged = (facts.get("summary") or {}).get("iterations")
    if logged not in (None, warmup + iterations):
        yield f"the log says {logged} iterations, planned were {warmup} + {iterations}"


def _loss_finite(_cell: Cell, facts: LogFacts) -> Iterator[str]:
    for name, value in (facts.get("loss") or {}).items():
        if value is not None and not isfinite(value):
            yield f"the {name} loss is {value}"
    ending = facts.get("ending")
    if ending and ending.get("kind") == "nan_loss":
        yield str(ending.get("detail") or "the log says that the loss is not a number")


def _loss_falling(_cell: Cell, facts: LogFacts) -> Iterator[str]:
    loss = facts.get("loss") or {}
    first, last = loss.get("first_quarter"), loss.get("last_quarter")
    if first is None or last is None or (facts.get("printed") or 0) < _LEAST_LOSSES:
        return
    # A loss may be negative, as a log-likelihood; the rise is a share of its size. Records of
    # older versions do not have the z.
    beyond_noise = loss.get("rise_z", _LEAST_RISE_Z) >= _LEAST_RISE_Z
    if beyond_noise and last - first > (_MOST_RISE - 1) * abs(first):
        yield f"the loss rose: median {first:.4g} in the first quarter, {last:.4g} in the last"


_CHECKS: Dict[str, Callable[[Cell, LogFacts], Iterator[str]]] = {
    "throughput_positive": _throughput_positive,
    "rate_times_time": _rate_times_time,
    "unit": _unit,
    "model": other_model,
    "model_flops": differences,
    "ranks": _ranks,
    "steps": _steps,
    "loss_finite": _loss_finite,
    "loss_falling": _loss_falling,
}


def _rate(value: Optional[float]) -> Optional[float]:
    """Return a rate that can be divided by, else None."""
    return float(value) if value is not None and isfinite(value) and value > 0 else None


def _devices(cell: Cell) -> Optional[int]:
    nodes, per_node = cell.get("nodes"), cell.get("devices_per_node")
    return nodes * per_node if nodes and per_node else None


def _global_batch(cell: Cell) -> Optional[int]:
    devices, batch = _devices(cell), cell.get("batch_size_per_device")
    return devices * batch if devices and batch else None
