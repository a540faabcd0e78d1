"""Published claims: figures that somebody printed, recomputed from their logs and judged.

A claim is a printed figure, the logs that it comes from, and the rule: a strategy for each log, a
statistic over the logs. Another kind of claim is a quotient of two others.
"""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.layout.table import text_table
from ansible_collections.scalebench.core.plugins.module_utils.stats.rounding import (
    ROUNDINGS,
    round_as,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import mean, median

__all__ = ["claims_of", "claims_text", "judge_claims"]

Row = Dict[str, Any]

# The keys of a claim, and their values where neither it nor ``common`` states them.
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
        _fail(where, f"a mapping is needed, not {value!r:.80}")
    for key in value:
        if key not in keys:
            _fail(where, f"unknown key {key!r:.80}; known: {', '.join(keys)}")
    return value


def _below(where: str, pattern: Any) -> None:
    """Check that a pattern stays below the folder of the logs."""
    if not isinstance(pattern, str) or pattern.startswith("/") or ".." in pattern.split("/"):
        _fail(where, f"{pattern!r:.80}: a path below the folder of the logs is needed, without ..")


def _check(where: str, claim: Row, earlier: Sequence[str]) -> None:
    for key, choices in _CHOICES.items():
        if claim[key] not in choices:
            _fail(where, f"{key} {claim[key]!r:.80} is not one of {', '.join(choices)}")
    for key, kinds in (("claimed", (int, float)), ("count", (int, type(None)))):
        if isinstance(claim[key], bool) or not isinstance(claim[key], kinds):
            _fail(where, f"{key} {claim[key]!r:.80} is not a number")
    if not isinstance(claim["parameters"], Mapping):
        _fail(where, f"parameters {claim['parameters']!r:.80}: a mapping is needed")
    quotient = [claim[key] for key in ("of", "over") if claim[key] is not None]
    if bool(claim["logs"]) == bool(quotient) or len(quotient) == 1:
        _fail(where, "give either logs, or of and over, the ids of two claims above it")
    if claim["logs"]:
        _below(where, claim["logs"])
    for other in quotient:
        if other not in earlier:
            _fail(
                where, f"no claim {other!r:.80} above it; there are: {', '.join(earlier) or 'none'}"
            )
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
        _fail(f"{name}.schema", f"{document.get('schema')!r:.80}: this reads schema 1")
    if not isinstance(document.get("claims"), list) or not document["claims"]:
        _fail(f"{name}.claims", "a list of claims is needed")
    folder = document.get("folder") or ""
    _below(f"{name}.folder", folder)
    common = _known(f"{name}.common", document.get("common") or {}, tuple(_DEFAULTS))
    claims: List[Row] = []
    for index, entry in enumerate(document["claims"]):
        where = f"{name}.claims[{index}]"
        _known(where, entry, tuple(_DEFAULTS))
        if not isinstance(entry.get("id"), str):
            _fail(where, "id is missing")
        claim = {**_DEFAULTS, **({} if entry.get("of") else common), **entry, "folder": folder}
        _check(f"{where} ({entry['id']})", claim, [c["id"] for c in claims])
        claims.append(claim)
    return claims


Logs = Sequence[Mapping[str, Any]]

_STATISTICS = {"single": mean, "median": median, "mean": mean}
_VERDICTS = ("confirmed", "differs", "impossible")


def _from_logs(claim: Row, logs: Logs) -> Row:
    """Apply statistic and rounding to what the logs of one claim gave."""
    failed = [log for log in logs if log["value"] is None]
    reasons: List[str] = []
    if failed:
        path, reason = failed[0]["path"], str(failed[0]["reason"])
        first = reason if reason.startswith(path) else f"{path}: {reason}"
        reasons = [f"{len(failed)} of {len(logs)} logs give no figure; {first}"]
    wanted = claim["count"] or (1 if claim["statistic"] == "single" else None)
    if not logs:
        reasons = [f"no log matches {claim['logs']}"]
    elif wanted is not None and len(logs) != wanted:
        reasons = [f"{len(logs)} logs match {claim['logs']}, {wanted} needed", *reasons]
    if reasons:
        return {"recomputed": None, "reason": "; ".join(reasons)}
    value = _STATISTICS[claim["statistic"]]([log["value"] for log in logs])
    return {"recomputed": round_as(value, claim["rounding"]), "reason": ""}


def _quotient(claim: Row, values: Mapping[str, Optional[float]]) -> Row:
    above, below = values[claim["of"]], values[claim["over"]]
    if above is None or not below:
        return {"recomputed": None, "reason": f"{claim['of']} or {claim['over']} has no value"}
    return {"recomputed": round_as(above / below, claim["rounding"]), "reason": ""}


def _rule(claim: Row, logs: Logs) -> str:
    rounding = "" if claim["rounding"] == "none" else f", {claim['rounding']}"
    if claim["of"] is not None:
        return f"{claim['of']} / {claim['over']}{rounding}"
    names = dict.fromkeys(log.get("strategy") or claim["strategy"] for log in logs)
    rule = " and ".join(names or [claim["strategy"]])
    if claim["parameters"]:
        rule += f" ({', '.join(f'{key} {value}' for key, value in claim['parameters'].items())})"
    if claim["figure"] != "throughput":
        rule = f"{claim['figure']} beside {rule}"
    if claim["statistic"] != "single":
        rule += f", {claim['statistic']} of {len(logs)} logs"
    return rule + rounding


def _row(claim: Row, result: Row, logs: Logs) -> Row:
    value, verdict, difference = result["recomputed"], "impossible", None
    if value is not None:
        same = math.isclose(value, claim["claimed"], rel_tol=1e-12)
        verdict = "confirmed" if same else "differs"
        difference = 0.0 if same else round_as(value - claim["claimed"], "g6")
    return {
        "id": claim["id"],
        "claimed": claim["claimed"],
        **result,
        "difference": difference,
        "verdict": verdict,
        "as_expected": verdict == claim["expected"],
        "rule": _rule(claim, logs),
        "logs": [log["path"] for log in logs],
        "note": claim["note"],
    }


def judge_claims(claims: Sequence[Row], logs_of: Mapping[str, Logs]) -> Row:
    """Compare each claim of :func:`claims_of` with what its logs give.

    ``logs_of``: {claim id: [{path, value, reason, strategy} per log]}; None has a reason.
    Returns ``claims``, a row of id, claimed, recomputed, reason, difference (recomputed - claimed),
    verdict, as_expected, rule, logs and note each; the number of each verdict (confirmed, differs,
    impossible: a log is missing or gives nothing); and ``as_expected`` for all together.
    """
    rows: List[Row] = []
    values: Dict[str, Optional[float]] = {}
    for claim in claims:
        logs = logs_of.get(claim["id"], [])
        result = _from_logs(claim, logs) if claim["of"] is None else _quotient(claim, values)
        values[claim["id"]] = result["recomputed"]
        rows.append(_row(claim, result, logs))
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in _VERDICTS}
    return {"claims": rows, **counts, "as_expected": all(row["as_expected"] for row in rows)}


_COLUMNS = ("claim", "claimed", "recomputed", "difference", "verdict", "rule")


def _one(result: Mapping[str, Any]) -> List[str]:
    """Return the lines of one document: title, table, reasons, numbers."""
    if not isinstance(result, Mapping) or "claims" not in result:
        raise ValueError("no claims: what published_claims_info returns is needed, or a list of it")
    claims = result["claims"]
    rows = [{**row, "claim": row["id"]} for row in claims]
    lines = [str(result.get("title") or "Claims"), "", text_table(rows, _COLUMNS, None), ""]
    for row in claims:
        text = " ".join(part for part in (row["reason"], row["note"]) if part)
        if text or not row["as_expected"]:
            expected = "" if row["as_expected"] else ", not expected"
            lines.append(f"{row['id']}: {row['verdict']}{expected}. {text}".rstrip())
    numbers = (f"{result[key]} {key}" for key in ("confirmed", "differs", "impossible"))
    return [*lines, f"{len(claims)} claims: {', '.join(numbers)}"]


def claims_text(results: Any) -> str:
    """Return per document a title, a table with every digit, the reasons and the numbers.

    ``results``: what ``published_claims_info`` returns, or a list of that.

    :raises ValueError: it is something else.
    """
    documents = results if isinstance(results, (list, tuple)) else [results]
    return "\n\n".join("\n".join(_one(result)) for result in documents)
