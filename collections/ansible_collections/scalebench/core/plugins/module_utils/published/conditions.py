"""The conditions under which a throughput was reached, and how two sets of them differ."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Sequence, Tuple

from ansible_collections.scalebench.core.plugins.module_utils.records.factors import factor_names
from ansible_collections.scalebench.core.plugins.module_utils.topology import parse_topology

__all__ = ["CPU", "DECISIVE", "FAMILIES", "apart", "judge", "plain_condition", "plain_conditions"]

# A difference in one of these, or in a factor that a benchmark declares, makes two figures
# incomparable; one in the second list is only stated.
DECISIVE = (
    *("framework", "model", "gpu", "nodes", "devices_per_node"),
    *factor_names(lambda factor: factor.decisive),
)
# The gpu of a cell that has none.
CPU = "none (CPU)"
_TOLD = ("benchmark", "framework_version", "container")
FAMILIES = ("tensorflow", "pytorch", "mxnet", "paddle", "oneflow", "jax")
# ResNet-50 without a version is v1.5, as in all reference efforts; v1b is another network.
_RESNET = re.compile(r"(?:.*[_-])?(?:resnet|rn?)[_-]?(\d+)[_-]?(?:v1\.5|(v\d\w*))?")


def plain_condition(condition: str, row: Mapping[str, Any]) -> Any:
    """Return one condition of a cell or row in a form that can be compared; None is unknown.

    ``NGC TensorFlow`` is the framework tensorflow, ``rn50`` the model r50, ``Tesla
    V100-SXM2-16GB`` the gpu V100-SXM2-16GB, ``pure_fp16`` the precision fp16, ``device: cpu`` no
    gpu, and a topology gives nodes and devices per node.
    """
    value = row.get(condition, (row.get("own_factors") or {}).get(condition))
    if condition in ("nodes", "devices_per_node") and value is None and row.get("topology"):
        return parse_topology(row["topology"])[condition == "devices_per_node"]
    if condition == "gpu" and row.get("device") == "cpu":
        return CPU
    if value is None or value == "":
        return None
    return _PLAIN[condition](str(value)) if condition in _PLAIN else value


def _family(name: str) -> str:
    name = name.lower()
    return next((family for family in FAMILIES if family in name), name)


def _model(name: str) -> str:
    name = name.lower()
    match = _RESNET.fullmatch(name)
    if match is None:
        return name
    return "_".join(part for part in (f"r{match.group(1)}", match.group(2)) if part)


_PLAIN: Dict[str, Callable[[str], str]] = {
    "framework": _family,
    "model": _model,
    "precision": lambda name: name.lower().replace("pure_", ""),
    "gpu": lambda name: "-".join(re.sub(r"\b(NVIDIA|TESLA)\b", " ", name.upper()).split()),
}


def plain_conditions(row: Mapping[str, Any]) -> Dict[str, Any]:
    """Return all decisive conditions of a cell or row, each as :func:`plain_condition` does."""
    return {condition: plain_condition(condition, row) for condition in _decisive(row)}


def _decisive(*rows: Mapping[str, Any]) -> Tuple[str, ...]:
    own = dict.fromkeys(name for row in rows for name in row.get("own_factors") or ())
    return (*DECISIVE, *own)


def apart(
    measured: Mapping[str, Any], published: Mapping[str, Any], waive: Sequence[str] = ()
) -> List[str]:
    """Return in which conditions two sets differ, or may, of what :func:`plain_conditions` made."""
    return [
        condition
        for condition, value in measured.items()
        if (value is None or value != published.get(condition)) and condition not in waive
    ]


def judge(
    measured: Mapping[str, Any], published: Mapping[str, Any], waive: Sequence[str] = ()
) -> Dict[str, Any]:
    """Return verdict, differences, unknown, waived, told and why of two sets of conditions.

    The verdict is not_comparable where a decisive condition differs, else not_known where a side
    does not state one, else comparable. ``waive`` names conditions to leave out.

    :raises ValueError: a condition to waive is not decisive.
    """
    decisive = _decisive(measured, published)
    for condition in waive:
        if condition not in decisive:
            raise ValueError(f"cannot waive {condition!r}: use one of {', '.join(decisive)}")
    sides: Dict[str, Tuple[Any, Any]] = {
        c: (plain_condition(c, measured), plain_condition(c, published)) for c in decisive + _TOLD
    }

    def listed(names: Iterable[str]) -> List[Dict[str, Any]]:
        return [{"condition": c, "measured": sides[c][0], "published": sides[c][1]} for c in names]

    judged = [c for c in decisive if c not in waive]
    unknown = [c for c in judged if None in sides[c]]
    differing = [c for c in judged if c not in unknown and sides[c][0] != sides[c][1]]
    why = [f"{c}: {sides[c][0]} measured, {sides[c][1]} published" for c in differing]
    return {
        "verdict": "not_comparable" if differing else "not_known" if unknown else "comparable",
        "differences": listed(differing),
        "unknown": listed(unknown),
        "waived": listed(c for c in decisive if c in waive and sides[c][0] != sides[c][1]),
        "told": listed(c for c in _TOLD if sides[c][0] != sides[c][1]),
        "why": "; ".join(why + [f"{c}: not stated" for c in unknown]),
    }
