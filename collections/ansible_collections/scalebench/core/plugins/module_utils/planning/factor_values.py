"""Which values of the factors a recipe's matrix runs, given the options: its blocks, restricted."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

__all__ = ["FACTORS", "blocks"]

FACTORS = (
    *("precision", "batch_size_per_device", "image_size", "xla", "data", "data_backend"),
    *("framework_version", "mode"),
)
Values = Dict[str, List[Any]]


def blocks(
    defaults: Mapping[str, Any], choices: Mapping[str, Sequence[Any]], options: Mapping[str, Any]
) -> List[Values]:
    """Return the parts of a matrix; each runs all combinations of its values.

    An option selects among the values of the blocks where these have all that is asked for; else
    what is asked for stands in every block, if the recipe's choices have it.

    :param defaults: of one device of a recipe; what ``matrix`` lists stands over the others.
    :param choices: what may be asked for, by factor; a factor without is free.
    :param options: what ``options.parse_options`` returned.
    :returns: per block the values of each of :data:`FACTORS`, and ``topology``.
    """
    plain = [{**defaults, **block} for block in defaults.get("matrix", [{}])]
    found = [{factor: _usual(factor, block, choices) for factor in FACTORS} for block in plain]
    for values, block in zip(found, plain):
        values["topology"] = list(block["topology"])
    for factor in FACTORS:
        if factor in options:
            _restrict(found, factor, options[factor], choices)
    return found


def _usual(
    factor: str, block: Mapping[str, Any], choices: Mapping[str, Sequence[Any]]
) -> List[Any]:
    return list(block.get(factor) or choices.get(factor, (None,))[:1])


def _restrict(
    found: List[Values],
    factor: str,
    asked: Sequence[Any],
    choices: Mapping[str, Sequence[Any]],
) -> None:
    wanted = [value for value in asked if factor not in choices or value in choices[factor]]
    planned = {value for values in found for value in values[factor]}
    for values in found:
        if planned.issuperset(wanted):
            values[factor] = [value for value in wanted if value in values[factor]]
        else:
            values[factor] = list(wanted)
