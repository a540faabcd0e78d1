"""The outcome of a check of claims as text: claimed, recomputed, difference, rule, and why not."""

from __future__ import annotations

from typing import Any, List, Mapping

from ansible_collections.scalebench.core.plugins.module_utils.layout.table import text_table

__all__ = ["claims_text"]

_COLUMNS = ("claim", "claimed", "recomputed", "difference", "verdict", "rule")


def _one(result: Mapping[str, Any]) -> List[str]:
    """Return the lines of one document: title, table, reasons, numbers."""
    if not isinstance(result, Mapping) or "claims" not in result:
        raise ValueError("no claims: what published_claims_info returns is needed, or a list of it")
    claims = result["claims"]
    rows = [{**row, "claim": row["id"]} for row in claims]
    lines = [str(result.get("title") or "Claims"), "", text_table(rows, _COLUMNS, None), ""]
    for row in claims:
        said = " ".join(text for text in (row["reason"], row["note"]) if text)
        if said or not row["as_expected"]:
            expected = "" if row["as_expected"] else ", not expected"
            lines.append(f"{row['id']}: {row['verdict']}{expected}. {said}".rstrip())
    numbers = (f"{result[key]} {key}" for key in ("confirmed", "differs", "impossible"))
    return [*lines, f"{len(claims)} claims: {', '.join(numbers)}"]


def claims_text(results: Any) -> str:
    """Return per document a title, a table with every digit, the reasons and the numbers.

    ``results``: what ``published_claims_info`` returns, or a list of that.

    :raises ValueError: it is not that.
    """
    documents = results if isinstance(results, (list, tuple)) else [results]
    return "\n\n".join("\n".join(_one(result)) for result in documents)
