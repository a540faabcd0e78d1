"""What a repeat says of its model, computed from its throughput: FLOP/s and MFU."""

from __future__ import annotations

from math import inf
from typing import Any, Dict, Iterator, Mapping, Optional, cast

from ..records.factors import own_values
from ..records.plans import Cell
from ..records.runs import Figures, LogFacts
from ..records.shape import check_plain
from .flops import CONVENTIONS, flops_per_token, peak_of, utilisation

__all__ = ["STATED", "differences", "figures_of", "other_model"]

# The name, beside those of CONVENTIONS, of what the benchmark file states: a figure, or a formula.
STATED = "stated"
_FIRST = next(iter(CONVENTIONS))
# A printed share may have three digits and four decimals. A trainer may take the rate over the time
# of the steps or the mean of rates, of which the latter is higher by their spread.
_ROUNDING, _LAST_DIGIT, _OF_RATE = 0.002, 5e-5, 0.02


def figures_of(cell: Cell, facts: LogFacts) -> Figures:
    """Return the figures that a log prints, and those that follow from its throughput.

    FLOP/s are of all devices, by what the benchmark states, a figure or a formula of its own, else
    by the first convention for which the log states enough. MFU needs a peak: printed, or known of
    the GPU and the precision.

    :param cell: planned; of a record of version 0.1 without what a benchmark states.
    """
    printed = _printed(facts)
    made: Dict[str, Any] = {}
    flops, rate, devices = _flops(cell, facts), _rate(facts), _devices(cell)
    if flops and rate:
        made["flops_per_second"] = next(iter(flops.values())) * rate
    peak = printed.get("peak_flops_per_second")
    if peak is None:
        of_table = peak_of(_identity(facts).get("device_name"), cell.get("precision"))
        if of_table and flops:
            peak = made["peak_flops_per_second"] = of_table.flops_per_second
            made["peak_source"] = of_table.source
    if flops and rate and peak:
        shares = {name: utilisation(count, rate, devices, peak) for name, count in flops.items()}
        made["mfu"] = {name: share for name, share in shares.items() if share is not None}
    if "mfu" in printed:
        made["mfu"] = {**made.get("mfu", {}), **printed["mfu"]}
    made = {**made, **{key: item for key, item in printed.items() if key != "mfu"}}
    try:
        check_plain(made)
    except ValueError:
        # The dimensions that the log states are of no model.
        return cast(Figures, {})
    return cast(Figures, made)


def differences(cell: Cell, facts: LogFacts) -> Iterator[str]:
    """Yield where printed FLOP/s and MFU differ from those of the model and the throughput."""
    printed = _printed(facts)
    flops, rate, devices = _flops(cell, facts), _rate(facts), _devices(cell)
    shares: Mapping[str, float] = printed.get("mfu") or {}
    achieved = printed.get("flops_per_second")
    if not (flops and rate and devices and achieved):
        return
    bases = [next(iter(flops.values()))]
    # Logs of BERT had the conventions of decoders too, and FLOP/s by the first of them.
    of_decoders = _counts(cell, facts, CONVENTIONS) if _FIRST in shares else {}
    flops = {**of_decoders, **flops}
    bases += [flops[_FIRST]] if of_decoders else []
    base = min(bases, key=lambda count: abs(achieved - count * rate))
    if abs(achieved / (base * rate) - 1) > _OF_RATE:
        yield (
            f"the log says {achieved:.4g} FLOP/s; by its model and its throughput they are"
            f" {base * rate:.4g}"
        )
    peak = printed.get("peak_flops_per_second")
    for name, share in shares.items():
        own = utilisation(flops.get(name, 0.0), achieved / base, devices, peak or 0.0)
        if own and abs(share - own) > _ROUNDING * own + _LAST_DIGIT:
            yield f"the log says an MFU ({name}) of {share:.4g}; by its own FLOP/s it is {own:.4g}"


def other_model(cell: Cell, facts: LogFacts) -> Iterator[str]:
    """Yield where the model that a log states is not the planned one.

    Held are its name, its parameters where the benchmark states them, and each dimension that is
    a factor of the benchmark, by its name or with ``model_`` before it.
    """
    logged, own = _model(facts), own_values(cell)
    data: Mapping[str, Any] = cell.get("model_data") or {}
    planned = {key: own.get(key, own.get(f"model_{key}")) for key in logged}
    planned["name"] = cell.get("model")
    if "parameters" in data:
        planned["parameters"] = data["parameters"]["figure"]
    for key, wanted in planned.items():
        if None not in (wanted, logged.get(key)) and logged[key] != wanted:
            yield f"the model's {key} is {logged[key]} in the log, planned was {wanted}"


def _printed(facts: LogFacts) -> Mapping[str, Any]:
    printed: Mapping[str, Any] = (facts.get("summary") or {}).get("figures") or {}
    return {name: value for name, value in printed.items() if value is not None}


def _identity(facts: LogFacts) -> Mapping[str, Any]:
    return facts.get("identity") or {}


def _flops(cell: Cell, facts: LogFacts) -> Dict[str, float]:
    """Return the FLOPs of one unit: first what the benchmark states, then by each convention.

    The conventions are of decoders: of an encoder, whose output layer may have the matrix of its
    embedding, they leave that layer out.
    """
    data: Mapping[str, Any] = cell.get("model_data") or {}
    stated: Mapping[str, Any] = data.get("flops_per_unit") or {}
    found = {}
    if "figure" in stated:
        found[STATED] = stated["figure"]
    elif stated.get("formula") not in (None, *CONVENTIONS.values()):
        found.update(_counts(cell, facts, {STATED: stated["formula"]}))
    if _model(facts).get("causal", True):
        found.update(_counts(cell, facts, CONVENTIONS))
    return found


def _counts(cell: Cell, facts: LogFacts, formulas: Mapping[str, str]) -> Dict[str, float]:
    """Return by name the FLOPs of one unit, of formulas for which the log states enough.

    A formula counts tokens; of another unit, each is a sequence of them.
    """
    model = _model(facts)
    unit = cell.get("unit") or facts.get("unit") or ""
    tokens = 1 if unit.startswith("tokens") else model.get("sequence_length") or 0
    counts = {name: flops_per_token(formula, model) for name, formula in formulas.items()}
    return {name: count * tokens for name, count in counts.items() if count and tokens}


def _model(facts: LogFacts) -> Mapping[str, Any]:
    return _identity(facts).get("architecture") or {}


def _rate(facts: LogFacts) -> Optional[float]:
    """Return units per second of all devices: over the time of the steps, if the log tells it."""
    for value in (facts.get("harmonic_throughput"), facts.get("throughput")):
        rate = float(value or 0.0)
        if 0.0 < rate < inf:
            return rate
    return None


def _devices(cell: Cell) -> int:
    return (cell.get("nodes") or 0) * (cell.get("devices_per_node") or 0)
