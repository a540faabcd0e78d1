"""The sources of a strategy's numbers: observations, clock, summary, or table."""

from __future__ import annotations

from array import array
from math import fsum
from operator import sub

from ..stats.rounding import ROUNDINGS
from ._series import AVERAGES, harmonic, interval, middle, series, take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

    Result = Tuple[float, int]
    Given = Mapping[str, Any]

__all__ = ["FROM", "counted", "devices_of"]


def _observations(reading: Given, run: Given, given: Given) -> Result:
    devices = devices_of(run, given)
    if given["batch_size"]:
        times = series(reading, run, "seconds", given["ranks"], devices)
        values: Sequence[float] = [given["batch_size"] / time for time in times if time > 0]
    else:
        values = series(reading, run, "throughput", given["ranks"], devices)
    values = counted(reading, run, values, given["every"])
    if not len(values):
        raise ValueError(f"no throughput printed in {run['count']} observations")
    if given["round_each"] != "none":
        values = [ROUNDINGS[given["round_each"]](value) for value in values]
    beyond = reading["observations"].beyond
    if beyond["count"] and given["iterations"] is None:
        return _beyond(values, beyond, given)
    taken = take(values, given["warmup"], given["iterations"], given["drop_last"], given["fewer"])
    extra = [given["trim"], given["trim_least"]] if given["average"] == "trimmed" else []
    return AVERAGES[given["average"]](taken, *extra), len(taken)


def counted(
    reading: Given, run: Given, values: Sequence[float], every: Optional[int]
) -> Sequence[float]:
    """Return the values of the lines that count: those of a step that is a multiple of ``every``.

    :raises ValueError: not every line has a value and a step.
    """
    if not every:
        return values
    steps = series(reading, run, "step", "first")
    return _where(values, steps, lambda step: step % every == 0)


def _beyond(values: Sequence[float], beyond: Given, given: Given) -> Result:
    """Return the mean including the observations of which only totals are kept.

    :raises ValueError: the average needs every observation.
    """
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


def _where(
    values: Sequence[float], steps: Sequence[float], counts: Callable[[float], bool]
) -> Sequence[float]:
    """Return the values of the lines whose step counts.

    :raises ValueError: not every line has a value and a step.
    """
    if len(values) != len(steps):
        raise ValueError(f"{len(values)} values, but {len(steps)} steps printed with them")
    return [value for value, step in zip(values, steps) if counts(step)]


def _wall_clock(reading: Given, run: Given, given: Given) -> Result:
    devices = devices_of(run, given)
    stamps = series(reading, run, "timestamp", given["ranks"], devices)
    steps = series(reading, run, "step", given["ranks"], devices)
    after = given["after_step"]
    if after is not None:
        stamps, steps = (_where(column, steps, lambda s: s > after) for column in (stamps, steps))
    first, iterations = given["warmup"], given["iterations"]
    final = first + iterations if iterations else len(stamps)
    if given["by"] == "steps":
        first, final = _at_steps(steps, first, final if iterations else None)
    elapsed = interval(stamps, first, final)
    passed = _steps_between(steps, first, final) if len(steps) == len(stamps) else final - first
    return _batch(run, given) * passed / elapsed, final - first


def _steps_between(steps: Sequence[float], first: int, final: int) -> float:
    """Return the number of steps between two observations; they may restart at every epoch."""
    gaps = array("d", map(sub, steps[first:final], steps[first - 1 :]))
    if min(gaps) > 0:
        return steps[final - 1] - steps[first - 1]
    return middle([gap for gap in gaps if gap > 0] or [1.0]) * len(gaps)


def _at_steps(steps: Sequence[float], first: int, final: Optional[int]) -> Tuple[int, int]:
    """Return the positions, from 1, of the observations printed at two steps.

    :raises ValueError: a step was not printed.
    """
    positions = []
    for step in (first, steps[-1] if final is None and steps else final):
        if step not in steps:
            raise ValueError(f"no observation at step {step} among {len(steps)}")
        positions.append(steps.index(step) + 1)
    return positions[0], positions[1]


def _batch(run: Given, given: Given) -> float:
    """Return the units of a throughput that a step of all devices computes."""
    assumed = run["assumed"]
    batch = given["batch_size"] or assumed.get("global_batch_size")
    accumulated = given["accumulation"]
    if accumulated or (not batch and "global_batch_size" not in assumed):
        per_device, devices = assumed.get("batch_size_per_device"), devices_of(run, given)
        of_all = per_device * devices * (accumulated or 1) if per_device and devices else None
        batch = given["batch_size"] or of_all
    if not batch:
        raise ValueError("the log does not print the global batch size: set batch_size")
    return float(batch if given["batch_size"] else batch * assumed.get("units_per_sample", 1))


def _cumulative(reading: Given, run: Given, given: Given) -> Result:
    """Return the harmonic mean of the rates from the warm-up to the end of each later epoch.

    :raises ValueError: no epoch ends after the warm-up and the first epochs, or none is printed.
    """
    rates = series(reading, run, "throughput", given["ranks"])
    epochs = series(reading, run, "epoch", given["ranks"])
    if len(epochs) != len(rates):
        raise ValueError(f"the log prints {len(rates)} rates and {len(epochs)} epochs of them")
    first, last = given["warmup"], len(rates) - 1
    ends = [at for at in range(first, last + 1) if at == last or epochs[at + 1] > epochs[at]]
    until = [harmonic(rates[first : at + 1]) for at in ends[given["warmup_epochs"] :]]
    if not until:
        raise ValueError(f"no epoch ends after the first {given['warmup_epochs']}")
    return harmonic(until), len(rates) - first


def _summary(_reading: Given, run: Given, given: Given) -> Result:
    summary = run["summary"]
    key = given["key"] or summary.get("throughput_key")
    value = summary.get(key) if key else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"no {key or 'throughput'} in the log's summary: it has {_named(summary)}")
    return float(value), 1


def _table(reading: Given, run: Given, given: Given) -> Result:
    table = next(
        (
            printed["summary"]["table"]
            for printed in reversed(reading["runs"])
            if "table" in printed["summary"]
        ),
        None,
    )
    if table is None:
        raise ValueError("the log prints no table of throughputs")
    row = table.get(str(devices_of(run, given)), {})
    size = given["batch_size_per_device"] or run["assumed"].get("batch_size_per_device")
    value = row.get(str(size)) if size or len(row) != 1 else next(iter(row.values()))
    if value is None:
        wanted = f"{devices_of(run, given)} devices and batch size {size}"
        raise ValueError(f"no number for {wanted} in the log's table: {table}")
    return float(value), 1


def _named(summary: Given) -> str:
    return ", ".join(sorted(key for key in summary if key != "throughput_key")) or "nothing"


def devices_of(run: Given, given: Given) -> Optional[int]:
    """Return the number of devices, of the parameter, the log or its path; None if unknown."""
    devices: Optional[int] = given["devices"] or run["assumed"].get("world_size")
    return devices


FROM: Dict[str, Callable[..., Result]] = {
    "observations": _observations,
    "wall_clock": _wall_clock,
    "cumulative": _cumulative,
    "summary": _summary,
    "table": _table,
}
