"""Published claims as data: what was printed, from which logs, and by which rule.

A claim is a figure that somebody printed, the logs that it comes from, and the rule: a strategy
for each log, a statistic over the logs. Another kind of claim is a quotient of two others.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NoReturn, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.stats.rounding import ROUNDINGS

__all__ = ["claims_of"]

Row = Dict[str, Any]

# What a claim says, and what holds where neither it nor ``common`` says anything.
_DEFAULTS: Row = {
    "id": None,
    "claimed": None,
    "logs": None,
    "count": None,
    "of": None,
    "over": None,
    "reader": "auto",
    "strategy": "auto",
    "parameters": {},
    "figure": "throughput",
    "statistic": "single",
    "rounding": "none",
    "expected": "confirmed",
    "note": "",
}
_CHOICES = {
    "figure": ("throughput", "wall_clock_throughput", "accuracy", "memory", "time_to_train"),
    "statistic": ("single", "median", "mean"),
    "rounding": tuple(ROUNDINGS),
    "expected": ("confirmed", "differs"),
}
_PARTS = ("schema", "title", "source", "folder", "common", "claims")


def _fail(where: str, problem: str) -> NoReturn:
    raise ValueError(f"claims, {where}: {problem}")


def _known(where: str, value: Any, keys: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        _fail(where, f"a mapping is needed, not {value!r}")
    for key in value:
        if key not in keys:
            _fail(where, f"unknown key {key!r}; known: {', '.join(keys)}")
    return value


def _below(where: str, pattern: Any) -> None:
    """Check that a pattern stays below the folder of the logs."""
    if not isinstance(pattern, str) or pattern.startswith("/") or ".." in pattern.split("/"):
        _fail(where, f"{pattern!r}: a path below the folder of the logs is needed, without ..")


def _check(where: str, claim: Row, earlier: Sequence[str]) -> None:
    for key, choices in _CHOICES.items():
        if claim[key] not in choices:
            _fail(where, f"{key} {claim[key]!r} is not one of {', '.join(choices)}")
    for key, kinds in (("claimed", (int, float)), ("count", (int, type(None)))):
        if isinstance(claim[key], bool) or not isinstance(claim[key], kinds):
            _fail(where, f"{key} {claim[key]!r} is not a number")
    if not isinstance(claim["parameters"], Mapping):
        _fail(where, f"parameters {claim['parameters']!r}: a mapping is needed")
    quotient = [claim[key] for key in ("of", "over") if claim[key] is not None]
    if bool(claim["logs"]) == bool(quotient) or len(quotient) == 1:
        _fail(where, "give either logs, or of and over, the ids of two claims above it")
    if claim["logs"]:
        _below(where, claim["logs"])
    for other in quotient:
        if other not in earlier:
            _fail(where, f"no claim {other!r} above it; there are: {', '.join(earlier) or 'none'}")
    if claim["id"] in earlier:
        _fail(where, "a claim above it has the same id")


def claims_of(document: Any, name: str = "document") -> List[Row]:
    """Return the claims of a document, each with all its keys and the ``folder`` of its logs.

    ``common`` holds for every claim that does not say otherwise; its rounding and statistic are
    those of figures from logs, not of quotients.

    :raises ValueError: names the place in the document, what is wrong there and what is allowed.
    """
    _known(name, document, _PARTS)
    if document.get("schema") != 1:
        _fail(f"{name}.schema", f"{document.get('schema')!r}: this reads schema 1")
    if not isinstance(document.get("claims"), list) or not document["claims"]:
        _fail(f"{name}.claims", "a list of claims is needed")
    folder = document.get("folder") or ""
    _below(f"{name}.folder", folder)
    common = _known(f"{name}.common", document.get("common") or {}, tuple(_DEFAULTS))
    claims: List[Row] = []
    for index, said in enumerate(document["claims"]):
        where = f"{name}.claims[{index}]"
        _known(where, said, tuple(_DEFAULTS))
        if not isinstance(said.get("id"), str):
            _fail(where, "id is missing")
        claim = {**_DEFAULTS, **({} if said.get("of") else common), **said, "folder": folder}
        _check(f"{where} ({said['id']})", claim, [c["id"] for c in claims])
        claims.append(claim)
    return claims
