"""Published claims against what their logs give: claimed, recomputed, difference, rule, verdict."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.stats.rounding import round_as
from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import mean, median

__all__ = ["judge_claims"]

Row = Dict[str, Any]
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


def judge_claims(claims: Sequence[Row], found: Mapping[str, Logs]) -> Row:
    """Hold each claim, as :func:`claims.claims_of` returns them, against what its logs gave.

    ``found``: {claim id: [{path, value, reason, strategy} per log]}; a value of None has a reason.
    Returns ``claims``, a row of id, claimed, recomputed, reason, difference (recomputed - claimed),
    verdict, as_expected, rule, logs and note each; the number of each verdict (confirmed, differs,
    impossible: a log is missing or gives nothing); and ``as_expected`` for all together.
    """
    rows: List[Row] = []
    values: Dict[str, Optional[float]] = {}
    for claim in claims:
        logs = found.get(claim["id"], [])
        result = _from_logs(claim, logs) if claim["of"] is None else _quotient(claim, values)
        values[claim["id"]] = result["recomputed"]
        rows.append(_row(claim, result, logs))
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in _VERDICTS}
    return {"claims": rows, **counts, "as_expected": all(row["as_expected"] for row in rows)}
