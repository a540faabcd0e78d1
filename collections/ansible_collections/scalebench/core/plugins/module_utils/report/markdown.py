"""report.md: the model of a report in Markdown, without commands and last lines of logs."""

from __future__ import annotations

from typing import Any, List, Mapping

from ..layout.sections import in_markdown, markdown

__all__ = ["report_markdown"]


def report_markdown(page: Mapping[str, Any]) -> str:
    """Return report.md.

    :param page: of ``page.page``.
    """
    head = page["head"]
    blocks = [f"# Scaling of {in_markdown(page['title'])}"]
    blocks += map(in_markdown, [*head["what"], head["where"]])
    blocks += [
        f"{head['counts']} Throughput is in {in_markdown(page['unit'])}.",
        f"**{head['trust']['verdict']}**",
        _list(head["trust"]["reasons"]),
    ]
    if head["remarks"]:
        blocks += ["Remarks:", _list(head["remarks"])]
    blocks += [markdown(one) for one in page["before"]]
    blocks += ["## Speed-up", *map(in_markdown, page["about"])]
    blocks += [*(markdown(one["summary"], 3) for one in page["groups"])]
    blocks += [f"![{in_markdown(text)}]({name}.svg)" for name, text in page["plots"].items()]
    blocks += ["## Repeats", *(markdown(one["repeats"], 3) for one in page["groups"])]
    rest = [page["failures"], *page["after"], page["machines"], *page["method"]]
    blocks += [markdown(one) for one in rest if one]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _list(lines: List[str]) -> str:
    return "\n".join(f"- {in_markdown(line)}" for line in lines)
