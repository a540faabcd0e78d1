"""The schema of a recipe's matrix: its defaults by device, blocks, and conditions on factors."""

from __future__ import annotations

from typing import Any, Mapping

from ._mappings import check_mapping
from .options import LISTS, parse_options

__all__ = ["CHOICES", "check_defaults", "check_when"]

# Factors of which a recipe lists what may be asked for.
CHOICES = ("precision", "data", "data_backend", "xla")
_DEVICES = ("cpu", "gpu")
_METHOD = ("repeats", "warmup", "iterations", "epochs", "target_accuracy")
_NEEDED = ("precision", "batch_size_per_device", "image_size", "topology")
# What a condition may ask for besides the factors that options vary.
_OF_CELL = ("nodes", "several_nodes", "devices_per_node", "device")


def check_defaults(defaults: Any, choices: Mapping[str, Any], where: str) -> None:
    """Refuse defaults that name no option, an impossible value, or not all that is needed.

    :param choices: what may be asked for, by factor.
    :raises ValueError: the place and what should stand there.
    """
    check_mapping(defaults, where, {}, dict.fromkeys(_DEVICES, dict))
    for device, usual in defaults.items():
        place = f"{where}.{device}"
        blocks = usual.get("matrix", [{}])
        if not isinstance(blocks, list) or not blocks:
            raise ValueError(f"{place}.matrix: a list of mappings is needed, not {blocks!r}")
        factors = {key: value for key, value in usual.items() if key != "matrix"}
        _check_factors(factors, choices, place, (*LISTS, *_METHOD))
        for number, block in enumerate(blocks):
            if not isinstance(block, Mapping):
                raise ValueError(f"{place}.matrix[{number}]: a mapping is needed, not {block!r}")
            _check_factors(block, choices, f"{place}.matrix[{number}]", LISTS)
            for needed in _NEEDED:
                if needed not in {**factors, **block}:
                    raise ValueError(f"{place}.{needed} is missing")


def _check_factors(
    given: Mapping[str, Any], choices: Mapping[str, Any], where: str, names: Any
) -> None:
    unknown = set(given) - set(names)
    if unknown:
        raise ValueError(f"{where}: {', '.join(sorted(map(str, unknown)))}: no such option")
    for factor, values in parse_options(given, where).items():
        for value in values if factor in choices else ():
            _check_choice(factor, value, choices, where)


def check_when(when: Mapping[str, Any], choices: Mapping[str, Any], where: str) -> None:
    """Refuse a condition on a factor that is not there, or on a value that it cannot have.

    :raises ValueError: the place and what there is.
    """
    known = sorted({*LISTS, *_OF_CELL} - {"benchmark"})
    for factor, wanted in when.items():
        if factor not in known:
            raise ValueError(f"{where}.{factor}: no such factor; there are {', '.join(known)}")
        for value in wanted if isinstance(wanted, list) else [wanted]:
            if factor in choices:
                _check_choice(factor, value, choices, where)


def _check_choice(factor: str, value: Any, choices: Mapping[str, Any], where: str) -> None:
    if value not in choices[factor]:
        listed = ", ".join(map(str, choices[factor]))
        raise ValueError(f"{where}.{factor}: {value!r} is not among the recipe's choices: {listed}")
