"""What a benchmark file states of its model: the unit of a throughput, FLOPs, gradients."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Optional, Sequence

from ..models.flops import FORMULAS
from ..records.factors import Factor, parse_count
from ..records.shape import MEASURED

__all__ = ["KEYS", "NAME", "check_model", "model_name", "model_of_cell"]

# Keys of a benchmark beside its recipes that are read here.
KEYS: Dict[str, type] = {"unit": str, "units_per_sample": object, "no_speedup": str}
_MODEL: Mapping[str, type] = {
    "name": str,
    "samples": str,
    "flops_per_unit": dict,
    "gradient_bytes": dict,
    "parameters": dict,
}
_UNIT = re.compile(r"[A-Za-z]+", re.ASCII)
NAME = re.compile(r"[\w-][\w.-]*", re.ASCII)


def check_model(benchmark: Mapping[str, Any], where: str, own: Sequence[Factor]) -> None:
    """Refuse a unit or a model of which a part cannot be used.

    :param benchmark: its file, whose keys are of the types in :data:`KEYS`; ``model`` is a name or
        a mapping.
    :param where: the file, for the message.
    :param own: the factors that the benchmark declares.
    :raises ValueError: the file, the key and what should stand there.
    """
    _check_noun(benchmark.get("unit", "samples"), f"{where}: unit", "sequences")
    if benchmark.get("unit") == "samples":
        raise ValueError(
            f"{where}: unit: 'samples' would be compared with anything: say what a sample is, such"
            " as sequences"
        )
    _check_units_per_sample(benchmark, where, own)
    if "no_speedup" in benchmark and not benchmark["no_speedup"].strip():
        raise ValueError(f"{where}: no_speedup: say why its figures have no speed-up")
    model = benchmark["model"]
    stated: Any = {"name": model} if isinstance(model, str) else model
    if not isinstance(stated, Mapping):
        raise ValueError(
            f"{where}: model: a name, or a mapping with name, is needed, not {model!r:.80}"
        )
    place = f"{where}: model"
    for key, value in stated.items():
        if key not in _MODEL:
            raise ValueError(f"{place}.{key!s:.80}: no such key; there are {', '.join(_MODEL)}")
        if not isinstance(value, _MODEL[key]):
            raise ValueError(
                f"{place}.{key}: a {_MODEL[key].__name__} is needed, not {value!r:.80}"
            )
    if not NAME.fullmatch(stated.get("name", "")):
        raise ValueError(
            f"{place}.name: {stated.get('name')!r:.80}: letters, digits, _, - and . are needed: the"
            " names of logs begin with it"
        )
    _check_samples(benchmark, stated, place)
    if {"gradient_bytes", "parameters"} <= {*stated}:
        raise ValueError(f"{place}: either gradient_bytes or parameters, not both")
    for key in ("gradient_bytes", "parameters"):
        _check_stated(stated.get(key), f"{place}.{key}", ("figure",))
    _check_stated(stated.get("flops_per_unit"), f"{place}.flops_per_unit", ("figure", "formula"))


def _check_noun(value: Any, where: str, example: str) -> None:
    if not isinstance(value, str) or not _UNIT.fullmatch(value):
        raise ValueError(f"{where}: {value!r:.80}: must name what is counted, such as {example}")


def _check_units_per_sample(
    benchmark: Mapping[str, Any], where: str, own: Sequence[Factor]
) -> None:
    """Check that it is a whole number, or a factor of the benchmark that is one."""
    if "units_per_sample" not in benchmark:
        return
    value, place = benchmark["units_per_sample"], f"{where}: units_per_sample"
    if "unit" not in benchmark:
        raise ValueError(f"{place}: {value!r:.80} of what? unit is missing")
    counts = [factor.name for factor in own if factor.parse is parse_count]
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not is_count and value not in counts:
        known = ", ".join(counts) or "it declares none"
        raise ValueError(
            f"{place}: {value!r:.80} is neither a whole number above 0 nor a factor of the"
            f" benchmark of type count ({known})"
        )


def _check_samples(benchmark: Mapping[str, Any], model: Mapping[str, Any], place: str) -> None:
    unit = benchmark.get("unit")
    samples = model.get("samples", unit or "samples")
    _check_noun(samples, f"{place}.samples", "sequences")
    if unit and samples != unit and "units_per_sample" not in benchmark:
        raise ValueError(
            f"{place}.samples: a batch is of {samples}, and the throughput in {unit}/s: give the"
            " benchmark units_per_sample"
        )


def _check_stated(stated: Optional[Mapping[str, Any]], place: str, kinds: Sequence[str]) -> None:
    """Check a figure, or the name of a formula, with its source."""
    if stated is None:
        return
    unknown = [str(key) for key in stated if key not in (*kinds, "source")]
    if unknown or len([kind for kind in kinds if kind in stated]) != 1:
        raise ValueError(
            f"{place}: {' or '.join(kinds)}, and source, are needed, not {stated!r:.80}"
        )
    source = stated.get("source")
    if not isinstance(source, str) or not source.strip():
        raise ValueError(f"{place}.source: say where it comes from, not {source!r:.80}")
    if "formula" in stated and stated["formula"] not in list(FORMULAS):
        known = ", ".join(FORMULAS)
        raise ValueError(f"{place}.formula: {stated['formula']!r:.80} is not one of {known}")
    figure = stated.get("figure", 1)
    number = isinstance(figure, (int, float)) and not isinstance(figure, bool)
    if not number or not 0 < figure < MEASURED:
        raise ValueError(
            f"{place}.figure: a number above 0 is needed, below {MEASURED:g}, not"
            f" {figure!r:.80} (YAML reads 4e9 as text: write 4.0e+9)"
        )


def model_name(benchmark: Mapping[str, Any]) -> str:
    """Return the name of the model of a checked benchmark, with which the names of logs begin."""
    model = benchmark["model"]
    return str(model if isinstance(model, str) else model["name"])


def model_of_cell(benchmark: Mapping[str, Any], own: Mapping[str, Any]) -> Dict[str, Any]:
    """Return what a planned cell holds of its benchmark's unit and model; what is not stated not.

    :param own: the values of the benchmark's own factors in the cell.
    """
    made: Dict[str, Any] = {}
    if "unit" in benchmark:
        made["unit"] = f"{benchmark['unit']}/s"
    if "units_per_sample" in benchmark:
        value = benchmark["units_per_sample"]
        made["units_per_sample"] = own.get(value, value)
    if "no_speedup" in benchmark:
        made["no_speedup"] = benchmark["no_speedup"]
    if isinstance(benchmark["model"], Mapping):
        made["model_data"] = dict(benchmark["model"])
    return made
